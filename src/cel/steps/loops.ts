// Loops, evaluated as the macros from which they were expanded.

import type { Frame } from '../cost.ts';
import { evaluationError, noSuchOverload, type EvaluationError } from '../errors.ts';
import type { Position } from '../progress.ts';
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

/** A kind of loop. `S`: its state, which `iterate` changes. */
interface LoopKind<S> {
  begin(frame: Frame): S;
  /** Evaluates one iteration. Returns false if no further one is needed. */
  iterate(frame: Frame, state: S): boolean;
  end(frame: Frame, state: S): Value;
  /** Prepares an attempt that continues the loop. */
  restore?(frame: Frame, state: S): void;
}

/** Returns the step for a loop of the kind. */
function looping<S>(loop: Loop, kind: LoopKind<S>): Step {
  const begin = (frame: Frame): { range: Value; state: S } => {
    const state = kind.begin(frame);
    return { range: loop.range(frame), state };
  };
  return (frame) => {
    const { progress } = frame;
    if (progress === undefined) {
      const { range, state } = begin(frame);
      iterateAll(frame, loop, range, () => kind.iterate(frame, state));
      return kind.end(frame, state);
    }
    return progress.loop(
      frame,
      loop,
      () => begin(frame),
      (resumed, finishIteration) => {
        kind.restore?.(frame, resumed.state);
        const body = (): boolean => {
          progress.endTurnIfDue(frame);
          const goesOn = kind.iterate(frame, resumed.state);
          finishIteration(!goesOn);
          return goesOn;
        };
        if (!resumed.isLast) iterateAll(frame, loop, resumed.range, body, resumed);
        return kind.end(frame, resumed.state);
      },
    );
  };
}

/**
 * Runs `body` with the loop's variables set to each element in turn, until it returns false.
 * `resumed`: the position to continue from.
 */
function iterateAll(
  frame: Frame,
  loop: Loop,
  range: Value,
  body: () => boolean,
  resumed?: Position,
): void {
  const { slots } = frame;
  const { first, second } = loop;
  const from = resumed?.done ?? 0;
  if (isList(range)) {
    const size = listSize(range);
    for (let index = from; index < size; index++) {
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
  for (const key of resumed === undefined ? mapKeys(range) : keysFrom(range, resumed)) {
    slots[first] = key;
    if (second !== undefined) slots[second] = adaptDynamic(mapGet(range, key));
    if (!body()) return;
  }
}

/** Returns the remaining keys. They are kept, so that their order stays. */
function keysFrom(range: Parameters<typeof mapKeys>[0], position: Position): Iterable<Value> {
  position.keys ??= [...mapKeys(range)];
  return position.keys.slice(position.done);
}

interface Quantified {
  failure: EvaluationError | undefined;
  isDecided: boolean;
}

/** Returns the step for all or exists: like `&&` and `||` over the elements. */
export function quantify(loop: Loop, predicate: Step, decisive: boolean): Step {
  // The condition reads the accumulator (exists also negates it) and tests it; the step reads it.
  const testCost = decisive ? 3 : 2;
  return looping<Quantified>(loop, {
    begin: () => ({ failure: undefined, isDecided: false }),
    iterate(frame, state) {
      frame.charge(testCost);
      if (state.isDecided) return false;
      frame.charge(1);
      try {
        const value = predicate(frame);
        if (value === decisive) state.isDecided = true;
        else if (value !== !decisive) state.failure ??= noSuchOverload();
      } catch (error) {
        // Even after another failure, an exceeded limit ends the evaluation.
        const absorbable = absorbed(error);
        state.failure ??= absorbable;
      }
      return true;
    },
    end(frame, { isDecided, failure }) {
      frame.charge(1);
      if (isDecided) return decisive;
      if (failure !== undefined) throw failure;
      return !decisive;
    },
  });
}

export function existsOne(loop: Loop, predicate: Step): Step {
  return looping<{ count: number }>(loop, {
    begin: () => ({ count: 0 }),
    iterate(frame, state) {
      const value = predicate(frame);
      if (value === true) {
        state.count++;
        frame.charge(2);
      } else if (value !== false) {
        throw noSuchOverload();
      }
      return true;
    },
    end(frame, { count }) {
      frame.charge(2);
      return count === 1;
    },
  });
}

export function collect(loop: Loop, predicate: Step | undefined, item: Step, cost: number): Step {
  return looping<Value[]>(loop, {
    begin: () => [],
    iterate(frame, items) {
      if (predicate !== undefined) {
        const value = predicate(frame);
        if (value === false) return true;
        if (value !== true) throw noSuchOverload();
      }
      items.push(item(frame));
      frame.charge(cost);
      return true;
    },
    end(frame, items) {
      frame.charge(1);
      return items;
    },
  });
}

export function general(loop: Loop, condition: Step, step: Step, result: Step): Step {
  const { accumulator } = loop;
  return looping<{ value: Value }>(loop, {
    begin(frame) {
      const value = loop.init(frame);
      frame.slots[accumulator] = value;
      return { value };
    },
    iterate(frame, state) {
      if (condition(frame) !== true) return false;
      state.value = step(frame);
      frame.slots[accumulator] = state.value;
      return true;
    },
    end: result,
    restore(frame, { value }) {
      frame.slots[accumulator] = value;
    },
  });
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
