// Writes decisions into claims (the devices and the reservation for the pod), and waits until
// devices are ready.

import { resourceClaims } from '#api/groups/resource/v1/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import * as wait from '#machinery/wait.ts';
import type { Handle } from '#scheduler/framework/handle.ts';
import type { Pod } from '#scheduler/framework/objects.ts';
import { certainlyRefused } from '#scheduler/outcome.ts';
import type { Claims } from './claims.ts';
import { hasBindingConditions, readiness } from './conditions.ts';
import type { BindingOutcome } from './metrics.ts';
import {
  type Allocation,
  canBeReserved,
  claimText,
  isReservedFor,
  type ResourceClaim,
} from './objects.ts';

/** Keeps a claim with devices until they are deallocated. */
const FINALIZER = 'resource.kubernetes.io/delete-protection';
/** The period of checking the time; changes of claims are events. */
const CHECK_INTERVAL_MS = 5000;
/** The number of retries after conflicts. Then the pod is scheduled again. */
const MAX_ATTEMPTS = 5;
const RETRY_MS = 10;

type ApiAccess = Pick<Handle, 'client' | 'clock' | 'random'>;

/** The pod has to be scheduled again. */
export class ClaimBindingError extends Error {
  /** The driver has reported a failure for a device, or has taken too long. */
  readonly outcome: Exclude<BindingOutcome, 'success'>;

  constructor(message: string, outcome: Exclude<BindingOutcome, 'success'> = 'error') {
    super(message);
    this.name = 'ClaimBindingError';
    this.outcome = outcome;
  }
}

/**
 * Writes the claim. `allocation`: undefined if the claim has devices already. Returns the written
 * claim. Retries if it has changed meanwhile.
 */
export async function bindClaim(
  handle: ApiAccess,
  known: ResourceClaim,
  allocation: Allocation | undefined,
  pod: Pod,
  signal: AbortSignal,
): Promise<ResourceClaim> {
  const { client, clock } = handle;
  const { namespace = '', name, uid } = known.metadata;
  const resource = client.resource(resourceClaims).namespace(namespace);
  let claim = known;
  for (let attempt = 1; ; attempt++) {
    check(claim, uid, allocation);
    if (
      isReservedFor(claim, pod) &&
      (allocation === undefined || claim.status.allocation === allocation)
    )
      return claim;
    try {
      if (allocation !== undefined && claim.metadata.finalizers?.includes(FINALIZER) !== true) {
        const finalizers = [...(claim.metadata.finalizers ?? []), FINALIZER];
        claim = await resource.update(
          { ...claim, metadata: { ...claim.metadata, finalizers } },
          { signal },
        );
        check(claim, uid, allocation);
      }
      const reference = { resource: 'pods', name: pod.metadata.name, uid: pod.metadata.uid };
      const status: ResourceClaim['status'] = {
        ...claim.status,
        ...(allocation !== undefined && { allocation }),
        reservedFor: [...(claim.status.reservedFor ?? []), reference],
      };
      const stamped = hasBindingConditions({ ...claim, status }) && allocation !== undefined;
      const allocationTimestamp = formatTime(clock.now());
      return await resource.updateStatus(
        {
          ...claim,
          status: stamped
            ? { ...status, allocation: { ...allocation, allocationTimestamp } }
            : status,
        },
        { signal },
      );
    } catch (error) {
      if (error instanceof ClaimBindingError || certainlyRefused(error)) throw error;
      // The devices must not be free for other pods while it is unknown whether they were written.
      claim = await untilAnswered(handle, signal, () => resource.get(name, { signal }));
      if (
        claim.metadata.uid === uid &&
        isReservedFor(claim, pod) &&
        sameDevices(claim.status.allocation, allocation)
      )
        return claim;
      if (!apierrors.isConflict(error) || attempt === MAX_ATTEMPTS) throw error;
      await clock.sleep(RETRY_MS, signal);
    }
  }
}

/** Reports whether the claim has the allocation that was to be written. */
function sameDevices(now: Allocation | undefined, allocation: Allocation | undefined): boolean {
  return (
    now !== undefined &&
    (allocation === undefined || semanticEqual(now.devices.results, allocation.devices.results))
  );
}

/** Repeats the request until the API server responds or rejects it. */
async function untilAnswered<T>(
  { clock, random }: ApiAccess,
  signal: AbortSignal,
  ask: () => Promise<T>,
): Promise<T> {
  const backoff = new wait.Backoff({
    durationMs: 500,
    factor: 2,
    capMs: 10_000,
    jitter: 0.1,
    random,
  });
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted || (certainlyRefused(error) && !apierrors.isTooManyRequests(error)))
        throw error;
      await clock.sleep(backoff.next(), signal);
    }
  }
}

/** Throws if the claim has changed so that the decision is invalid. */
function check(claim: ResourceClaim, uid: string, allocation: Allocation | undefined): void {
  const gone = (what: string): ClaimBindingError =>
    new ClaimBindingError(`claim ${claimText(claim)} ${what} in the meantime`);
  if (claim.metadata.uid !== uid || claim.metadata.deletionTimestamp !== undefined)
    throw gone('got deleted');
  if (allocation !== undefined && claim.status.allocation !== undefined)
    throw gone('got allocated elsewhere');
  if (allocation === undefined && claim.status.allocation === undefined)
    throw gone('got deallocated elsewhere');
  if (!canBeReserved(claim))
    throw new ClaimBindingError(`claim ${claimText(claim)} is reserved for too many pods`);
}

/** Deletes the claim without its devices, so that nothing keeps it. Resolves if it is gone. */
export async function deleteClaim(
  { client, clock }: Pick<ApiAccess, 'client' | 'clock'>,
  { metadata }: ResourceClaim,
  signal: AbortSignal,
): Promise<void> {
  const { namespace = '', name, uid } = metadata;
  const resource = client.resource(resourceClaims).namespace(namespace);
  for (let attempt = 1; ; attempt++) {
    try {
      const claim = await resource.get(name, { signal });
      if (claim.metadata.uid !== uid) return;
      if (claim.metadata.finalizers?.includes(FINALIZER) === true) {
        const finalizers = claim.metadata.finalizers.filter((finalizer) => finalizer !== FINALIZER);
        await resource.update(
          { ...claim, metadata: { ...claim.metadata, finalizers } },
          { signal },
        );
      }
      await resource.delete(name, { preconditions: { uid }, signal });
      return;
    } catch (error) {
      if (apierrors.isNotFound(error)) return;
      if (!apierrors.isConflict(error) || attempt === MAX_ATTEMPTS) throw error;
      await clock.sleep(RETRY_MS, signal);
    }
  }
}

/** Waits until the drivers have made all devices ready that need it. Throws ClaimBindingError. */
export async function untilReady(
  { clock }: Pick<Handle, 'clock'>,
  claims: Claims,
  of: readonly ResourceClaim[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  const waiting = of.filter(hasBindingConditions);
  const deadline = clock.monotonic() + timeoutMs;
  while (waiting.length > 0) {
    let ready = true;
    for (const claim of waiting) {
      const now = claims.get(claimText(claim));
      if (now?.metadata.uid !== claim.metadata.uid)
        throw new ClaimBindingError(`claim ${claimText(claim)} got deleted in the meantime`);
      if (now.status.allocation === undefined) {
        throw new ClaimBindingError(
          `claim ${claimText(claim)} got deallocated elsewhere in the meantime`,
        );
      }
      const is = readiness(now);
      if (typeof is === 'string') throw new ClaimBindingError(is, 'failure');
      ready &&= is;
    }
    if (ready) return;
    if (clock.monotonic() >= deadline)
      throw new ClaimBindingError('device binding timeout', 'timeout');
    const enough = new AbortController();
    const changed = (): void => enough.abort();
    const forget = waiting.map((claim) => claims.onChange(claim, changed));
    signal.addEventListener('abort', changed, { once: true });
    await clock.sleep(CHECK_INTERVAL_MS, enough.signal).catch(() => undefined);
    signal.removeEventListener('abort', changed);
    for (const one of forget) one();
    signal.throwIfAborted();
  }
}
