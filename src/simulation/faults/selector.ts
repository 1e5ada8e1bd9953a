// Which requests a fault is for. A selector is checked when the fault is added, so that a typing error is not a fault
// that never happens.

import type { Random } from '#machinery/random.ts';
import { type Call, isWrite, SERVER_COMPONENT, TEST_COMPONENT } from './call.ts';
import { type KindName, selectedKind } from './kinds.ts';

const VERBS = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
] as const;

/** A verb of the API, or 'read' (get, list, watch) or 'write' (all others). */
export type FaultVerb = (typeof VERBS)[number] | 'read' | 'write';

/** Selects requests and events. Everything that is given has to match; a field that is left out matches all. */
export interface FaultSelector {
  /**
   * 'controller-manager', 'deployment-controller', 'scheduler', 'kubelet' (all), 'kubelet/node-1', the name of an own
   * controller, or 'client/NAME' for a client that comes by a port, by the first word of its user agent
   * ('client/kubectl'). 'test': requests of `cluster.client`, which are matched only if they are named. Default:
   * every component but the test and the API server itself.
   */
  readonly component?: string;
  readonly verb?: FaultVerb | readonly FaultVerb[];
  readonly kind?: KindName;
  readonly namespace?: string;
  /** The name of an object. The beginning of a name and '*' match all names that begin so. */
  readonly name?: string;
  /** 'status', 'scale', … '' matches requests for the objects themselves. Default: both. */
  readonly subresource?: string;
  /** So many matches pass first. Default: 0. */
  readonly skip?: number;
  /** The fault happens at most so many times. Default: until it is ended. */
  readonly count?: number;
  /** The chance of each match, from 0 to 1, drawn from the cluster's seed. Default: 1. */
  readonly probability?: number;
}

const FIELDS: ReadonlySet<string> = new Set([
  'component',
  'verb',
  'kind',
  'namespace',
  'name',
  'subresource',
  'skip',
  'count',
  'probability',
]);

export type CallMatcher = (call: Call) => boolean;

/** Checks the fields of a fault. `own`: the fields that it has besides those of a selector. Throws TypeError. */
export function checkFields(fault: string, selector: object, own: readonly string[]): void {
  if (typeof selector !== 'object' || selector === null)
    throw new TypeError(`fault ${fault}: a selector is an object, such as { kind: 'Pod' }`);
  for (const field of Object.keys(selector)) {
    if (FIELDS.has(field) || own.includes(field)) continue;
    const known = [...FIELDS, ...own].join(', ');
    throw new TypeError(
      `fault ${fault}: unknown field ${JSON.stringify(field)}; known are ${known}`,
    );
  }
}

/** Returns the function that matches calls by all but their number and chance. Throws TypeError. */
export function callMatcher(selector: FaultSelector): CallMatcher {
  const { component, namespace, name, subresource } = selector;
  for (const [field, value] of Object.entries({ component, namespace, name, subresource }))
    if (value !== undefined && typeof value !== 'string')
      throw new TypeError(`fault: ${field} must be a string`);
  const verbs = verbsOf(selector.verb);
  const kind = selector.kind === undefined ? undefined : selectedKind(selector.kind);
  const matchesName = nameMatcher(name);
  return (call) =>
    (component === undefined
      ? call.component !== TEST_COMPONENT && call.component !== SERVER_COMPONENT
      : isComponent(call.component, component)) &&
    (verbs === undefined || verbs.has(call.verb)) &&
    (kind === undefined || (call.resource === kind.resource && call.group === kind.group)) &&
    (namespace === undefined || call.namespace === namespace) &&
    (subresource === undefined || call.subresource === subresource) &&
    matchesName(call.name);
}

/** Reports whether a component is the one that was named, or a part of it: 'kubelet/node-1' is a 'kubelet'. */
export function isComponent(component: string, named: string): boolean {
  return (
    component === named ||
    component.startsWith(`${named}/`) ||
    component.startsWith(`${named}#`) ||
    component.endsWith(`/${named}`)
  );
}

function nameMatcher(name: string | undefined): (name: string) => boolean {
  if (name === undefined) return () => true;
  if (name === '') throw new TypeError('fault: name must not be empty; leave it out for all names');
  if (!name.endsWith('*')) return (candidate) => candidate === name;
  const prefix = name.slice(0, -1);
  return (candidate) => candidate.startsWith(prefix);
}

function verbsOf(verb: FaultSelector['verb']): ReadonlySet<string> | undefined {
  if (verb === undefined) return undefined;
  const verbs = new Set<string>();
  for (const each of typeof verb === 'string' ? [verb] : verb) {
    if (each === 'read' || each === 'write')
      for (const one of VERBS) {
        if (isWrite(one) === (each === 'write')) verbs.add(one);
      }
    else if ((VERBS as readonly string[]).includes(each)) verbs.add(each);
    else {
      const known = [...VERBS, 'read', 'write'].join(', ');
      throw new TypeError(`fault: unknown verb ${JSON.stringify(each)}; known are ${known}`);
    }
  }
  if (verbs.size === 0) throw new TypeError('fault: an empty list of verbs matches nothing');
  return verbs;
}

/** Decides which of the matches a fault happens to: by `skip`, `probability` and `count`. */
export class MatchCounter {
  readonly #count: number;
  readonly #probability: number;
  readonly #random: Random;
  #skip: number;
  hits = 0;

  /** Throws TypeError. */
  constructor({ skip = 0, count = Infinity, probability = 1 }: FaultSelector, random: Random) {
    if (!Number.isSafeInteger(skip) || skip < 0)
      throw new TypeError(`fault: skip must be a whole number from 0 on, not ${String(skip)}`);
    if (count !== Infinity && (!Number.isSafeInteger(count) || count < 1))
      throw new TypeError(`fault: count must be a whole number from 1 on, not ${String(count)}`);
    if (typeof probability !== 'number' || !(probability > 0 && probability <= 1))
      throw new TypeError(
        `fault: probability must be more than 0 and at most 1, not ${String(probability)}`,
      );
    this.#skip = skip;
    this.#count = count;
    this.#probability = probability;
    this.#random = random;
  }

  get spent(): boolean {
    return this.hits >= this.#count;
  }

  /** Called with each match. Reports whether the fault happens to it. */
  take(): boolean {
    if (this.spent) return false;
    if (this.#skip > 0) {
      this.#skip--;
      return false;
    }
    if (this.#probability < 1 && this.#random.float() >= this.#probability) return false;
    this.hits++;
    return true;
  }
}
