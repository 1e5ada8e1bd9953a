// Protects ranges of cluster IPs: a ServiceCIDR becomes ready once it has the finalizer. It is
// deleted only if every address in use is also covered by another ServiceCIDR.

import { type IPAddress, ipAddresses, serviceCIDRs } from '#api/groups/networking/v1/index.ts';
import type { Condition, Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { formatTime, parseTime } from '#machinery/text/time.ts';
import {
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { canGo, hasAddress, type ReadServiceCIDR, touch } from './ranges.ts';

export const SERVICE_CIDR_FINALIZER = 'networking.k8s.io/service-cidr-finalizer';
const NAME = 'service-cidr-controller';
const MANAGED_BY_LABEL = 'ipaddress.kubernetes.io/managed-by';
const ALLOCATOR = 'ipallocator.k8s.io';

const WORKERS = 5;
const MAX_RETRIES = 15;
/**
 * The time that API servers may need to see the deletion; until then they may still allocate
 * addresses.
 */
const DELETION_GRACE_MS = 10_000;

type ReadIPAddress = Immutable<IPAddress>;
type Verdict = Pick<Condition, 'status' | 'reason' | 'message'>;

const READY: Verdict = { status: 'True', reason: '', message: 'Kubernetes Service CIDR is ready' };
const IN_USE: Verdict = {
  status: 'False',
  reason: 'Terminating',
  message:
    'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR',
};

export class ServiceCidrController implements Controller {
  readonly name = NAME;
  readonly run: Controller['run'];
  readonly #config: ControllerConfig;
  readonly #ranges: SharedInformer<ReadServiceCIDR>;
  readonly #addresses: SharedInformer<ReadIPAddress>;
  readonly #recorder: EventRecorder;

  constructor(config: ControllerConfig) {
    this.#config = config;
    const builder = new ControllerBuilder(config, {
      queue: 'ipaddresses',
      workers: WORKERS,
      maxRetries: MAX_RETRIES,
      reconcile: (name, signal) => this.#reconcile(name, signal),
    });
    this.#recorder = builder.recorder(NAME);
    this.#ranges = builder.watches(serviceCIDRs, (range, before) => {
      const { name } = range.metadata;
      // A new range, or a range with a new family, covers other addresses than before.
      return before?.spec.cidrs?.length === range.spec.cidrs?.length
        ? name
        : [name, ...this.#neighboursOf(range)];
    });
    // Only a range that is being deleted waits for addresses.
    this.#addresses = builder.watches(ipAddresses, (address) => this.#deletedRangesWith(address), {
      predicate: { update: false },
    });
    this.run = builder.complete();
  }

  #neighboursOf(range: ReadServiceCIDR): readonly string[] {
    return this.#ranges.lister
      .list()
      .flatMap((other) => (touch(range, other) ? [other.metadata.name] : []));
  }

  #deletedRangesWith({ metadata }: ReadIPAddress): readonly string[] {
    if (metadata.labels?.[MANAGED_BY_LABEL] !== ALLOCATOR) return [];
    const ranges = this.#ranges.lister
      .list()
      .filter((range) => isGoing(range) && hasAddress(range, metadata.name));
    return ranges.map((range) => range.metadata.name);
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    const range = this.#ranges.lister.getByKey(name);
    if (range === undefined) return reconciled;
    try {
      return await (isGoing(range) ? this.#letGo(range, signal) : this.#keep(range, signal));
    } catch (error) {
      if (apierrors.isNotFound(error)) return reconciled;
      // The cache was stale: the retry decides with newer objects.
      if (apierrors.isConflict(error)) return requeue;
      throw error;
    }
  }

  async #keep(range: ReadServiceCIDR, signal: AbortSignal): Promise<ReconcileResult> {
    if (!hasFinalizer(range))
      await this.#patchFinalizers(range, { finalizers: [SERVICE_CIDR_FINALIZER] }, signal);
    try {
      await this.#writeCondition(range, READY, signal);
    } catch (error) {
      if (!apierrors.isNotFound(error) && !apierrors.isConflict(error)) {
        const subject = {
          apiVersion: 'networking.k8s.io/v1',
          kind: 'ServiceCIDR',
          metadata: range.metadata,
        };
        const message = 'The ServiceCIDR Status can not be set to Ready=True';
        this.#recorder.event(subject, 'Warning', 'KubernetesServiceCIDRError', message);
      }
      throw error;
    }
    return reconciled;
  }

  async #letGo(range: ReadServiceCIDR, signal: AbortSignal): Promise<ReconcileResult> {
    if (!hasFinalizer(range)) return reconciled;
    const { clock } = this.#config;
    const inUse = this.#addresses.lister.list().filter(isAllocated).map(nameOf);
    if (!canGo(range, othersThan(range, this.#ranges.lister.list()), inUse)) {
      await this.#writeCondition(range, IN_USE, signal);
      return reconciled;
    }
    const leftMs =
      (parseTime(range.metadata.deletionTimestamp) ?? 0) + DELETION_GRACE_MS - clock.now();
    if (leftMs > 0) return requeueAfter(leftMs);
    if (!(await this.#canReallyGo(range, signal))) return requeueAfter(DELETION_GRACE_MS);
    const patch = { '$deleteFromPrimitiveList/finalizers': [SERVICE_CIDR_FINALIZER] };
    await this.#patchFinalizers(range, patch, signal);
    return reconciled;
  }

  /** Decides from live objects instead of the cache, because a deletion cannot be undone. */
  async #canReallyGo(range: ReadServiceCIDR, signal: AbortSignal): Promise<boolean> {
    const { client } = this.#config;
    const [ranges, addresses] = await Promise.all([
      client.resource(serviceCIDRs).list({ signal }),
      client
        .resource(ipAddresses)
        .list({ labelSelector: `${MANAGED_BY_LABEL}=${ALLOCATOR}`, signal }),
    ]);
    return canGo(range, othersThan(range, ranges.items), addresses.items.map(nameOf));
  }

  async #patchFinalizers(
    range: ReadServiceCIDR,
    change: object,
    signal: AbortSignal,
  ): Promise<void> {
    const { name, uid } = range.metadata;
    const patch = { metadata: { uid, ...change } };
    await this.#config.client
      .resource(serviceCIDRs)
      .patch(name, 'application/strategic-merge-patch+json', patch, { signal });
  }

  /** Writes the condition if it has changed. */
  async #writeCondition(
    range: ReadServiceCIDR,
    verdict: Verdict,
    signal: AbortSignal,
  ): Promise<void> {
    const before = range.status.conditions?.find(({ type }) => type === 'Ready');
    const { status, reason, message } = verdict;
    if (before?.status === status && before.reason === reason && before.message === message) return;
    const { name, uid } = range.metadata;
    const lastTransitionTime =
      before?.status === status ? before.lastTransitionTime : formatTime(this.#config.clock.now());
    const applied = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'ServiceCIDR',
      metadata: { name, uid },
      status: { conditions: [{ type: 'Ready', ...verdict, lastTransitionTime }] },
    };
    await this.#config.client
      .resource(serviceCIDRs)
      .patch(name, 'application/apply-patch+yaml', applied, {
        subresource: 'status',
        fieldManager: NAME,
        force: true,
        signal,
      });
  }
}

const isGoing = ({ metadata }: ReadServiceCIDR): boolean =>
  metadata.deletionTimestamp !== undefined;
const hasFinalizer = ({ metadata }: ReadServiceCIDR): boolean =>
  metadata.finalizers?.includes(SERVICE_CIDR_FINALIZER) === true;
const isAllocated = ({ metadata }: ReadIPAddress): boolean =>
  metadata.labels?.[MANAGED_BY_LABEL] === ALLOCATOR;
const nameOf = ({ metadata }: ReadIPAddress): string => metadata.name;
/** Returns the other ranges. Ranges that are being deleted do not cover addresses. */
const othersThan = (
  range: ReadServiceCIDR,
  all: readonly ReadServiceCIDR[],
): readonly ReadServiceCIDR[] =>
  all.filter((other) => other.metadata.name !== range.metadata.name && !isGoing(other));
