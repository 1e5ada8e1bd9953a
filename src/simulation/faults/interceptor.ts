// Where faults of requests and watches are injected: one stage of the API server's handler chain, behind
// authorization. Every client passes it, in this process or by a port. While there is no fault, a request costs one
// comparison there.

import type {
  ApiRequest,
  ApiResponse,
  EncodedWatchEvent,
  Filter,
  Handler,
} from '#apiserver/request.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { type Call, callOf } from './call.ts';
import { type EventFate, FaultyWatch, type WatchEnd, type WatchFaults } from './faulty-watch.ts';
import { isComponent } from './selector.ts';

/** The effect of a fault. Both functions see everything and decide themselves whether the fault is for it. */
export interface FaultRule {
  /** Handles a request in place of `next`; undefined: this request is not concerned. */
  readonly request?: (
    call: Call,
    next: () => Promise<ApiResponse>,
    request: ApiRequest,
  ) => Promise<ApiResponse> | undefined;
  /** Decides about a watch event, other than bookmarks; undefined: it is not concerned. */
  readonly event?: (
    call: Call,
    event: EncodedWatchEvent,
    stopped: AbortSignal,
  ) => EventFate | Promise<EventFate> | undefined;
}

export class FaultInterceptor implements WatchFaults {
  readonly #requestRules = new Set<FaultRule>();
  readonly #eventRules = new Set<FaultRule>();
  /** Components that do not reach the server, each as often as it was severed. */
  readonly #severed = new Map<string, number>();
  /** Components that are spared. */
  readonly #spared = new Set<string>();
  readonly #watches = new Set<FaultyWatch>();

  /** The stage of the chain. */
  readonly filter: Filter = (next) => (request) => {
    const { verb, isResourceRequest } = request.info;
    if (!isResourceRequest) return next(request);
    if (verb === 'watch') return this.#watch(next, request);
    if (this.#requestRules.size === 0 && this.#severed.size === 0) return next(request);
    return this.#request(callOf(request), () => next(request), request);
  };

  get idle(): boolean {
    return this.#eventRules.size === 0;
  }

  /** Returns a function that removes the rule again. The rule that was added first meets a request first. */
  add(rule: FaultRule): () => void {
    if (rule.request !== undefined) this.#requestRules.add(rule);
    if (rule.event !== undefined) this.#eventRules.add(rule);
    return () => {
      this.#requestRules.delete(rule);
      this.#eventRules.delete(rule);
    };
  }

  /**
   * Lets no request of the component reach the server, and ends its watches. Returns a function that connects it
   * again.
   */
  sever(component: string): () => void {
    this.#severed.set(component, (this.#severed.get(component) ?? 0) + 1);
    this.cut(
      (call) => isComponent(call.component, component),
      () => ({
        kind: 'error',
        error: unreachable(),
      }),
    );
    let severed = true;
    return () => {
      if (!severed) return;
      severed = false;
      const times = (this.#severed.get(component) ?? 1) - 1;
      if (times === 0) this.#severed.delete(component);
      else this.#severed.set(component, times);
    };
  }

  /**
   * Spares the requests of a component until the returned function is called. Then it is cut off if
   * it is severed.
   */
  spare(component: string): () => void {
    this.#spared.add(component);
    return () => {
      this.#spared.delete(component);
      if (!this.isSevered(component)) return;
      this.cut(
        (call) => call.component === component,
        () => ({ kind: 'error', error: unreachable() }),
      );
    };
  }

  isSevered(component: string): boolean {
    for (const severed of this.#severed.keys()) if (isComponent(component, severed)) return true;
    return false;
  }

  /** Ends the open watches that match. Returns their number. */
  cut(matches: (call: Call) => boolean, end: () => WatchEnd): number {
    const cut = [...this.#watches].filter((watch) => matches(watch.call));
    for (const watch of cut) watch.cut(end());
    return cut.length;
  }

  async fateOf(call: Call, event: EncodedWatchEvent, stopped: AbortSignal): Promise<EventFate> {
    if (event.type === 'BOOKMARK' || event.type === 'ERROR') return { kind: 'pass' };
    const { metadata } = event.object.object() as {
      metadata: { name?: string; namespace?: string };
    };
    const about = { ...call, name: metadata.name ?? '', namespace: metadata.namespace ?? '' };
    let fate: EventFate = { kind: 'pass' };
    for (const rule of this.#eventRules) {
      const decided = await rule.event?.(about, event, stopped);
      if (decided === undefined || decided.kind === 'pass') continue;
      fate = decided;
      if (fate.kind !== 'repeat') break;
    }
    return fate;
  }

  async #request(
    call: Call,
    next: () => Promise<ApiResponse>,
    request: ApiRequest,
  ): Promise<ApiResponse> {
    if (this.#spared.has(call.component)) return next();
    this.#throwIfSevered(call);
    let handle = next;
    for (const rule of [...this.#requestRules].reverse()) {
      const inner = handle;
      handle = () => rule.request?.(call, inner, request) ?? inner();
    }
    const response = await handle();
    // The answer of a component that has crashed meanwhile does not arrive.
    this.#throwIfSevered(call);
    return response;
  }

  async #watch(next: Handler, request: ApiRequest): Promise<ApiResponse> {
    const call = callOf(request);
    const response = await this.#request(call, () => next(request), request);
    if (response.body.kind !== 'watch') return response;
    const watch = new FaultyWatch(call, response.body.events, this, (ended) =>
      this.#watches.delete(ended),
    );
    this.#watches.add(watch);
    return { ...response, body: { kind: 'watch', events: watch } };
  }

  #throwIfSevered({ component }: Call): void {
    if (this.#severed.size > 0 && this.isSevered(component)) throw unreachable();
  }
}

/** The error of a client that does not reach the server. */
function unreachable(): apierrors.StatusError {
  return apierrors.serviceUnavailable('fault: the API server cannot be reached');
}
