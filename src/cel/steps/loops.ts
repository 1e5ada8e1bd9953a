// Loops, evaluated as the macros from which they were expanded.

import type { Frame } from '../cost.ts';
import { evaluationError, noSuchOverload, type EvaluationError } from '../errors.ts';
import {
  adaptDynamic,
  isList,
  isMap,
  listItem,
  listSize,
  mapGet,
  mapKeys,
  typeOfValue,
  type Value,
} from '../values.ts';
import { absorbed, type Step } from './step.ts';

export interface Loop {
  readonly accumulator: number;
  readonly first: number;
  readonly second: number | undefined;
  readonly range: Step;
  readonly init: Step;
}

/** Runs `body` with the loop's variables set to each element in turn, until it returns false. */
function iterate(frame: Frame, loop: Loop, body: () => boolean): void {
  const { slots } = frame;
  const { first, second } = loop;
  const range = loop.range(frame);
  if (isList(range)) {
    const size = listSize(range);
    for (let index = 0; index < size; index++) {
      if (second === undefined) {
        slots[first] = listItem(range, index);
      } else {
        slots[first] = index;
        slots[second] = listItem(range, index);
      }
      if (!body()) return;
    }
    return;
  }
  if (!isMap(range)) throw evaluationError(`got '${goTypeName(range)}', expected iterable type`);
  for (const key of mapKeys(range)) {
    slots[first] = key;
    if (second !== undefined) slots[second] = adaptDynamic(mapGet(range, key));
    if (!body()) return;
  }
}

/** Returns the step for all or exists: like `&&` and `||` over the elements. */
export function quantify(loop: Loop, predicate: Step, decisive: boolean): Step {
  // The condition reads the accumulator (exists also negates it) and tests it; the step reads it.
  const testCost = decisive ? 3 : 2;
  return (frame) => {
    let failure: EvaluationError | undefined;
    let decided = false;
    iterate(frame, loop, () => {
      frame.charge(testCost);
      if (decided) return false;
      frame.charge(1);
      try {
        const value = predicate(frame);
        if (value === decisive) decided = true;
        else if (value !== !decisive) failure ??= noSuchOverload();
      } catch (error) {
        failure ??= absorbed(error);
      }
      return true;
    });
    frame.charge(1);
    if (decided) return decisive;
    if (failure !== undefined) throw failure;
    return !decisive;
  };
}

export function existsOne(loop: Loop, predicate: Step): Step {
  return (frame) => {
    let count = 0;
    iterate(frame, loop, () => {
      const value = predicate(frame);
      if (value === true) {
        count++;
        frame.charge(2);
      } else if (value !== false) {
        throw noSuchOverload();
      }
      return true;
    });
    frame.charge(2);
    return count === 1;
  };
}

export function collect(loop: Loop, predicate: Step | undefined, item: Step, cost: number): Step {
  return (frame) => {
    const items: Value[] = [];
    iterate(frame, loop, () => {
      if (predicate !== undefined) {
        const value = predicate(frame);
        if (value === false) return true;
        if (value !== true) throw noSuchOverload();
      }
      items.push(item(frame));
      frame.charge(cost);
      return true;
    });
    frame.charge(1);
    return items;
  };
}

export function general(loop: Loop, condition: Step, step: Step, result: Step): Step {
  return (frame) => {
    frame.slots[loop.accumulator] = loop.init(frame);
    iterate(frame, loop, () => {
      if (condition(frame) !== true) return false;
      frame.slots[loop.accumulator] = step(frame);
      return true;
    });
    return result(frame);
  };
}

const GO_NAMES: Readonly<Record<string, string>> = {
  bool: 'types.Bool',
  int: 'types.Int',
  uint: 'types.Uint',
  double: 'types.Double',
  string: 'types.String',
  bytes: 'types.Bytes',
  null: 'types.Null',
  timestamp: 'types.Timestamp',
  duration: 'types.Duration',
};

/** Returns Go's name of the type, which upstream's message contains. */
function goTypeName(value: Value): string {
  const { kind } = typeOfValue(value);
  return GO_NAMES[kind] ?? kind;
}
