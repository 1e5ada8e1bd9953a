// Faults of whole components: crashes, nodes without a network, leaders that lose their lease, clocks that are wrong.

import { leases, type Lease } from '#api/groups/coordination/v1/index.ts';
import type { ApiRequest } from '#apiserver/request.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { ActiveFault, Fault } from './active-faults.ts';
import { isWrite } from './call.ts';
import { describe, durationMs, type FaultContext, type FaultDuration } from './context.ts';
import { heartbeatsMetBy, heartbeatsOf } from './met-heartbeats.ts';
import { handleLater } from './request-faults.ts';
import { type FaultSelector, isComponent } from './selector.ts';

export interface CrashOptions extends Omit<FaultSelector, 'component' | 'count'> {
  /**
   * True: the component ends after a request that matches has taken effect, and before it sees the answer. Default:
   * false, it ends at once, and no other option but `restartAfter` is allowed.
   */
  readonly afterWrite?: boolean;
  /** When it is started again. Default: '1s'. */
  readonly restartAfter?: FaultDuration;
}

export interface SlowOptions {
  /** How long each of its requests, and each event for it, takes longer. */
  readonly by: FaultDuration;
}

export interface JumpOptions {
  /** How far the wall clock jumps; '-1h': back. */
  readonly by: FaultDuration;
  /** Default: the clocks of all components, and that of the API server. */
  readonly component?: string;
}

export interface LeaderOptions {
  /** The name of the Lease. Default: every lease that the component holds. */
  readonly lease?: string;
}

/** Ends a component as a crash does, and starts it again: its cache and queues are lost. */
export function crash(context: FaultContext, component: string, options: CrashOptions): Fault {
  const { afterWrite = false, restartAfter = '1s', ...selector } = options;
  const afterMs = durationMs('crash', 'restartAfter', restartAfter);
  context.checkComponent('crash', component);
  const processes = processesOf(context, component);
  if (!afterWrite) {
    if (Object.keys(selector).length > 0)
      throw new TypeError('fault crash: a selector needs { afterWrite: true }');
    const fault = context.register(
      describe(`crash ${component}`, options),
      heartbeatsOf(processes),
    );
    fault.hits = processes.length;
    for (const process of processes) restart(context, fault, process, afterMs);
    return fault;
  }
  const { fault, matches, take } = context.add(
    'crash',
    { verb: 'write', ...selector, component, count: 1 },
    [],
    heartbeatsOf(processes),
  );
  const remove = context.config.interceptor.add({
    request: (call, next) => {
      if (!isWrite(call.verb) || !matches(call) || !take()) return undefined;
      const process = processes.find((name) => isComponent(call.component, name));
      return next().finally(() => {
        if (process !== undefined) restart(context, fault, process, afterMs);
      });
    },
  });
  fault.onEnd(remove);
  return fault;
}

/** Returns the processes that a crash of a component ends: a controller goes with its manager. */
function processesOf(context: FaultContext, component: string): readonly string[] {
  const restartable = context.config.components.restartable();
  const processes = restartable.filter(
    (name) => isComponent(name, component) || isComponent(component, name),
  );
  if (processes.length > 0) return processes;
  const parents = context.config.components
    .names()
    .filter((name) => isComponent(name, component))
    .flatMap((name) => restartable.filter((process) => isComponent(name, process)));
  if (parents.length > 0) return [...new Set(parents)];
  throw new TypeError(
    `fault crash: ${component} cannot be started again; what can is ${restartable.join(', ')}`,
  );
}

/** Severs a process from the server at once, so that its last requests get nowhere, and starts it again. */
function restart(
  context: FaultContext,
  fault: ActiveFault,
  process: string,
  afterMs: number,
): void {
  const { interceptor, components, clock, onError } = context.config;
  const connect = interceptor.sever(process);
  components
    .restart(process, async () => {
      await clock.sleep(afterMs);
      connect();
    })
    .catch(onError)
    .finally(() => {
      connect();
      fault.end();
    });
}

/** Keeps a component from the API server, and the API server from it, until the fault ends. */
export function partition(context: FaultContext, component: string): Fault {
  context.checkComponent('partition', component);
  const fault = context.register(`partition ${component}`, heartbeatsMetBy({ component }));
  fault.hits = 1;
  fault.onEnd(context.config.interceptor.sever(component));
  return fault;
}

/** Slows a component down until the fault ends. */
export function slow(context: FaultContext, component: string, options: SlowOptions): Fault {
  const byMs = durationMs('slow', 'by', options.by);
  const { fault, matches, take } = context.add('slow', { component, ...options }, ['by']);
  const { clock, interceptor } = context.config;
  const pass = { kind: 'pass' } as const;
  const remove = interceptor.add({
    request: (call, next, request) =>
      matches(call) && take() ? handleLater(context, byMs, request, next) : undefined,
    event: (call, _event, stopped) =>
      matches(call) && take()
        ? clock.sleep(byMs, stopped).then(
            () => pass,
            () => pass,
          )
        : undefined,
  });
  fault.onEnd(remove);
  return fault;
}

/** Lets the wall clocks of components be wrong until the fault ends. Timers and deadlines run as before. */
export function jumpClock(context: FaultContext, options: JumpOptions): Fault {
  const byMs = durationMs('jumpClock', 'by', options.by, { signed: true });
  if (byMs === 0) throw new TypeError('fault jumpClock: a jump by 0 changes nothing');
  context.checkComponent('jumpClock', options.component);
  const fault = context.register(describe('jumpClock', options));
  fault.hits = 1;
  fault.onEnd(context.config.skews.add(options.component, byMs));
  return fault;
}

/** Lets the leader among the instances of a component fail to renew its lease, so that another one takes over. */
export function loseLeader(
  context: FaultContext,
  component: string,
  options: LeaderOptions,
): Fault {
  return onRenewal(context, 'loseLeader', component, options, () => Promise.reject(unreachable()));
}

/**
 * Frees the leader's lease for the others, while the leader itself gets no answer and goes on leading until its
 * renewal deadline: for that time there are two leaders.
 */
export function twoLeaders(
  context: FaultContext,
  component: string,
  options: LeaderOptions,
): Fault {
  return onRenewal(context, 'twoLeaders', component, options, async (fault, request, isFirst) => {
    if (isFirst) await freeLease(context, request);
    await fault.ended(request.signal);
    throw unreachable();
  });
}

/** Handles the renewals of the candidate that renews first after the fault was added. */
function onRenewal(
  context: FaultContext,
  name: string,
  component: string,
  options: LeaderOptions,
  handle: (fault: ActiveFault, request: ApiRequest, isFirst: boolean) => Promise<never>,
): Fault {
  const { lease, ...unknown } = options;
  const { fault, matches } = context.add(name, {
    component,
    kind: leases,
    ...(lease !== undefined && { name: lease }),
    ...unknown,
  });
  let leader: string | undefined;
  const remove = context.config.interceptor.add({
    request: (call, next, request) => {
      if (!isWrite(call.verb) || !matches(call)) return undefined;
      const { holderIdentity = '' } = specOf(request);
      if (holderIdentity === '' || (leader ?? holderIdentity) !== holderIdentity) return undefined;
      const isFirst = leader === undefined;
      leader = holderIdentity;
      fault.hits++;
      return handle(fault, request, isFirst);
    },
  });
  fault.onEnd(remove);
  return fault;
}

function specOf({ body }: ApiRequest): { readonly holderIdentity?: string } {
  if (body.kind !== 'object') return {};
  return (body.object as Partial<Lease> | undefined)?.spec ?? {};
}

async function freeLease(context: FaultContext, { info }: ApiRequest): Promise<void> {
  const resource = context.config.client().resource(leases).namespace(info.namespace);
  const held = await resource.get(info.name);
  await resource.update({ ...held, spec: { ...held.spec, holderIdentity: '' } });
}

function unreachable(): apierrors.StatusError {
  return apierrors.serviceUnavailable('fault: the API server cannot be reached');
}
