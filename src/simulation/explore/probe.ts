// Counts the writes and events of the reconcilers under exploration, and disturbs one run of them.

import type { ApiResponse, EncodedWatchEvent } from '#apiserver/request.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { type Call, isWrite } from '../faults/call.ts';
import type { EventFate } from '../faults/faulty-watch.ts';
import type { FaultRule } from '../faults/interceptor.ts';
import { endOf } from '../faults/watch-faults.ts';
import type { Disturbance, RunSize } from './disturbance.ts';

export interface ProbeConfig {
  readonly disturbance: Disturbance;
  /** Reports whether a component is under exploration. */
  readonly isSubject: (component: string) => boolean;
  /** Reports whether a write or event matters. The others are neither counted nor disturbed. Default: all do. */
  readonly counts?: (call: Call) => boolean;
  /**
   * Called when the component has to crash. `seen`: the revision that its next run sees for a while; undefined: the
   * present.
   */
  readonly onCrash: (component: string, seen: number | undefined) => void;
  /** Returns the present revision of the store. */
  readonly currentRevision: () => Promise<number>;
  /** Called after each write of a subject that succeeded, and awaited before its answer. */
  readonly afterWrite?: () => Promise<void>;
}

/** A kind by its path. */
export interface WrittenKind {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly namespaced: boolean;
}

const PASS = { kind: 'pass' } as const;

export class Probe {
  readonly #config: ProbeConfig;
  /** Requests that have failed with a conflict. */
  readonly #tried = new Set<string>();
  #held: ((fate: EventFate) => void)[] = [];
  readonly #watched = new Set<string>();
  /** Events of the present step that pass before the cache stands still; undefined: it does not. */
  #passing: number | undefined;
  #eventsOfThisStep = 0;
  writes = 0;
  events = 0;
  steps = 0;
  eventsOfStep = 0;
  /** The kinds that any client has written, apart from events and leases. By 'RESOURCE.GROUP'. */
  readonly written = new Map<string, WrittenKind>();

  constructor(config: ProbeConfig) {
    this.#config = config;
  }

  get disturbance(): Disturbance {
    return this.#config.disturbance;
  }

  get size(): RunSize {
    const { writes, events, steps, eventsOfStep } = this;
    return { writes, events, steps, eventsOfStep, watched: [...this.#watched].sort() };
  }

  /** Called when a step of the test begins. */
  beginStep(): void {
    this.steps++;
    this.#eventsOfThisStep = 0;
    const { disturbance } = this.#config;
    if (disturbance.kind === 'stale cache' || disturbance.kind === 'gap')
      this.#passing = disturbance.event - 1;
  }

  /** Called when all but the reconcilers with a stale cache have come to rest: the cache moves on. */
  release(): void {
    this.#passing = undefined;
    const fate: EventFate =
      this.disturbance.kind === 'gap' ? { kind: 'end', end: endOf('expired') } : PASS;
    for (const deliver of this.#held.splice(0)) deliver(fate);
  }

  readonly rule: FaultRule = {
    request: (call, next, request) => {
      const { isSubject, counts, disturbance, onCrash, afterWrite } = this.#config;
      // No state depends on Event objects, and Leases are of the election.
      if (!isWrite(call.verb) || isBookkeeping(call) || counts?.(call) === false) return undefined;
      const { group, resource } = call;
      const namespaced = call.namespace !== '';
      const version = request.info.apiVersion;
      this.written.set(`${resource}.${group}`, { group, version, resource, namespaced });
      if (!isSubject(call.component)) return undefined;
      const number = ++this.writes;
      if (disturbance.kind === 'conflicts' && call.verb !== 'create' && this.#isFirst(call))
        return Promise.reject(conflict(call));
      if (disturbance.kind === 'stale restart' && disturbance.write === number)
        return this.#staleRestart(call.component, next);
      // The event of the write itself must not pass.
      if (disturbance.kind === 'lost answer' && disturbance.write === number) this.#passing = 0;
      const handled =
        afterWrite === undefined
          ? next()
          : next().then(async (response) => {
              await afterWrite();
              return response;
            });
      if (disturbance.kind === 'crash' && disturbance.write === number)
        return handled.finally(() => onCrash(call.component, undefined));
      if (disturbance.kind === 'lost answer' && disturbance.write === number)
        return handled.then(() => {
          throw apierrors.timeoutError('request did not complete within the allotted timeout');
        });
      return handled;
    },
    event: (call, event) => this.#event(call, event),
  };

  #event(call: Call, _event: EncodedWatchEvent): EventFate | Promise<EventFate> | undefined {
    const { isSubject, disturbance } = this.#config;
    if (!isSubject(call.component) || isBookkeeping(call)) return undefined;
    if (this.#config.counts?.(call) === false) return undefined;
    this.#watched.add(call.resource);
    this.events++;
    this.eventsOfStep = Math.max(this.eventsOfStep, ++this.#eventsOfThisStep);
    if (disturbance.kind === 'lost event' && disturbance.event === this.events)
      return { kind: 'end', end: endOf('expired') };
    if (disturbance.kind === 'silent loss' && disturbance.event === this.events)
      return { kind: 'lose' };
    if (this.#passing === undefined) return undefined;
    if (this.#passing > 0) {
      this.#passing--;
      return undefined;
    }
    return new Promise((resolve) => this.#held.push(resolve));
  }

  async #staleRestart(component: string, next: () => Promise<ApiResponse>): Promise<ApiResponse> {
    const before = await this.#config.currentRevision();
    return next().finally(() => this.#config.onCrash(component, before));
  }

  #isFirst(call: Call): boolean {
    const { verb, resource, namespace, name, subresource } = call;
    const what = [verb, resource, namespace, name, subresource].join(' ');
    if (this.#tried.has(what)) return false;
    this.#tried.add(what);
    return true;
  }
}

function isBookkeeping({ resource }: Call): boolean {
  return resource === 'events' || resource === 'leases';
}

function conflict({ group, resource, name }: Call): apierrors.StatusError {
  return apierrors.conflict({ group, resource }, name, 'another writer was first');
}
