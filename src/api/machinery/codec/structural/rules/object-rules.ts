// Evaluates the rules of a schema for an object: at each value the rules of its node, then those of
// nested values.

import { getOwn, isPlainObject } from '#machinery/deep.ts';
import type { Steps } from '#machinery/turn.ts';
import { hasKeys, itemKey, itemsByKey } from '../list-keys.ts';
import { evaluateRule, rulesFor, type RuleRun, type Subject } from './evaluate.ts';
import { Place } from './place.ts';
import type { RuleNode } from './rule-node.ts';

/** The cost limit of one step: some milliseconds. */
const STEP_COST = 100_000;

/** Evaluates all rules, in steps. The errors are in `run`. */
export function* evaluateObject(node: RuleNode, subject: Subject, run: RuleRun): Steps<void> {
  yield* new ObjectRules(run).evaluate(node, subject);
}

class ObjectRules {
  readonly #run: RuleRun;
  /** The remaining budget at which the step ends. */
  #pauseAt: number;

  constructor(run: RuleRun) {
    this.#run = run;
    this.#pauseAt = run.budget.remaining - STEP_COST;
  }

  *evaluate(node: RuleNode, subject: Subject): Steps<void> {
    const start = node.times.now();
    yield* this.#evaluateValue(node, subject);
    node.times.evaluated(start);
  }

  *#evaluateValue(node: RuleNode, subject: Subject): Steps<void> {
    const run = this.#run;
    const { value } = subject;
    if (value === null || value === undefined) return;
    for (const rule of rulesFor(node, subject, run)) {
      yield* evaluateRule(rule, node, subject, run);
      if (run.isStopped) return;
      if (run.budget.remaining < this.#pauseAt) {
        this.#pauseAt = run.budget.remaining - STEP_COST;
        yield;
      }
    }
    if (run.isStopped || node.isLeaf) return;
    if (Array.isArray(value)) yield* this.#evaluateItems(node, value, subject);
    else if (isPlainObject(value)) yield* this.#evaluateFields(node, value, subject);
  }

  *#evaluateFields(
    node: RuleNode,
    value: Readonly<Record<string, unknown>>,
    subject: Subject,
  ): Steps<void> {
    const { place, ratchet } = subject;
    const old = isPlainObject(subject.old) ? subject.old : {};
    for (const name of node.values === undefined ? [] : Object.keys(value)) {
      if (this.#run.isStopped) return;
      yield* this.evaluate(node.values!, {
        value: getOwn(value, name),
        old: getOwn(old, name),
        place: new Place(place, { kind: 'key', name }),
        ratchet: ratchet?.field(name),
      });
    }
    for (const [name, property] of node.properties) {
      if (this.#run.isStopped) return;
      if (!Object.hasOwn(value, name)) continue;
      yield* this.evaluate(property, {
        value: value[name],
        old: getOwn(old, name),
        place: new Place(place, { kind: 'field', name }),
        ratchet: ratchet?.field(name),
      });
    }
  }

  *#evaluateItems(node: RuleNode, value: readonly unknown[], subject: Subject): Steps<void> {
    const { items, schema } = node;
    if (items === undefined) return;
    const old =
      hasKeys(schema) && Array.isArray(subject.old) ? itemsByKey(schema, subject.old) : undefined;
    for (const [index, item] of value.entries()) {
      if (this.#run.isStopped) return;
      const key = old === undefined ? undefined : itemKey(schema, item);
      yield* this.evaluate(items, {
        value: item,
        old: key === undefined ? undefined : old?.get(key),
        place: new Place(subject.place, { kind: 'item', index }),
        ratchet: subject.ratchet?.item(index),
      });
    }
  }
}
