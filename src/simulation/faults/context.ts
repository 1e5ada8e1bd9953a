// The parts that all kinds of faults share: their configuration, registration and checks.

import type { Client } from '#client/client.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Random } from '#machinery/random.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { toMilliseconds } from '#machinery/text/duration.ts';
import { ActiveFault } from './active-faults.ts';
import { CLIENT_PREFIX } from './call.ts';
import type { FaultInterceptor } from './interceptor.ts';
import type { FaultyStorage } from './faulty-storage.ts';
import { heartbeatsMetBy, type MetHeartbeats, observeHeartbeats } from './met-heartbeats.ts';
import type { ClockSkews } from './skewed-clock.ts';
import type { WebhookFaults } from './webhook-faults.ts';
import {
  type CallMatcher,
  callMatcher,
  checkFields,
  type FaultSelector,
  isComponent,
  MatchCounter,
} from './selector.ts';

/** Milliseconds, or text such as '1s' or '10m'. */
export type FaultDuration = number | string;

/** The components of a cluster, as faults see them. */
export interface FaultyComponents {
  /** All that can be named. 'kubelet/node-1', 'scheduler', the names of own controllers. */
  names(): readonly string[];
  /** The components among them that can be started again. */
  restartable(): readonly string[];
  /** Stops a component at once, waits for `down`, and starts it again. */
  restart(component: string, down: () => Promise<void>): Promise<void>;
}

export interface FaultConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly interceptor: FaultInterceptor;
  readonly storage: FaultyStorage;
  readonly skews: ClockSkews;
  readonly webhooks: WebhookFaults;
  readonly components: FaultyComponents;
  /** As an administrator. */
  readonly client: () => Client;
  /** Called with what a fault fails at behind the scenes, such as starting a component again. */
  readonly onError: (error: unknown) => void;
}

/** A fault that is being added: checked, and counted. */
export interface NewFault {
  readonly fault: ActiveFault;
  readonly matches: CallMatcher;
  /** Called with each match. Reports whether the fault happens to it. */
  take(): boolean;
}

export class FaultContext {
  readonly config: FaultConfig;
  readonly active = new Set<ActiveFault>();

  constructor(config: FaultConfig) {
    this.config = config;
  }

  /**
   * Registers a fault. `own`: the fields that it has besides those of a selector. `met`: see
   * `register`; default: what the selector can match. Throws TypeError.
   */
  add(
    name: string,
    selector: FaultSelector,
    own: readonly string[] = [],
    met?: MetHeartbeats,
  ): NewFault {
    checkFields(name, selector, own);
    this.checkComponent(name, selector.component);
    const matches = callMatcher(selector);
    const counter = new MatchCounter(selector, this.config.random);
    const fault = this.register(describe(name, selector), met ?? heartbeatsMetBy(selector));
    return {
      fault,
      matches,
      take: () => {
        if (!fault.active || !counter.take()) return false;
        fault.hits++;
        // A spent fault is removed once its last hit has been dealt with.
        if (counter.spent) queueMicrotask(() => fault.end());
        return true;
      },
    };
  }

  /** `met`: the heartbeats of nodes that the fault can meet. */
  register(description: string, met: MetHeartbeats = 'all'): ActiveFault {
    const fault = new ActiveFault(description, (ended) => this.active.delete(ended));
    this.active.add(fault);
    const { clock, storage } = this.config;
    if (storage.beats !== undefined) fault.onEnd(observeHeartbeats(storage.beats, met));
    // Whatever is done periodically may meet the fault.
    const mayDoze = clock.polls?.keepAwake();
    if (mayDoze !== undefined) fault.onEnd(mayDoze);
    return fault;
  }

  /** Throws TypeError for a component that the cluster does not have. */
  checkComponent(fault: string, component: string | undefined): void {
    if (component === undefined) return;
    const names = this.config.components.names();
    if (typeof component === 'string') {
      if (component.startsWith(CLIENT_PREFIX)) return;
      if (names.some((name) => isComponent(name, component))) return;
    }
    throw new TypeError(
      `fault ${fault}: the cluster has no component ${JSON.stringify(component)}; ` +
        `known are ${names.join(', ')}, and ${CLIENT_PREFIX}NAME by the user agent of a client that comes by a ` +
        `port. An own controller has to be started first.`,
    );
  }
}

/** Returns a duration in milliseconds. Throws TypeError for one that is none, or that is negative unless `signed`. */
export function durationMs(
  fault: string,
  field: string,
  duration: FaultDuration | undefined,
  { signed = false } = {},
): number {
  if (typeof duration !== 'number' && typeof duration !== 'string')
    throw new TypeError(`fault ${fault}: ${field} is needed, such as { ${field}: '1s' }`);
  let milliseconds: number;
  try {
    milliseconds = toMilliseconds(duration);
  } catch (error) {
    throw new TypeError(`fault ${fault}: ${field}: ${errorMessage(error)}`, { cause: error });
  }
  if (!Number.isFinite(milliseconds) || (!signed && milliseconds < 0))
    throw new TypeError(`fault ${fault}: ${field} must be a duration, not ${String(duration)}`);
  return milliseconds;
}

export function describe(name: string, options: object = {}): string {
  const given = Object.entries(options).map(([field, value]: [string, unknown]) => [
    field,
    // The value of a resource is named by itself.
    typeof value === 'object' && value !== null && 'resource' in value ? value.resource : value,
  ]);
  return given.length === 0 ? name : `${name} ${JSON.stringify(Object.fromEntries(given))}`;
}
