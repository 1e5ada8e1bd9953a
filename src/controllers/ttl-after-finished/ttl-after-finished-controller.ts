// Deletes finished jobs when their ttlSecondsAfterFinished is over.

import { type Job, jobs } from '#api/groups/batch/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { parseTime } from '#machinery/text/time.ts';
import { reconciled, type ReconcileResult, requeueAfter } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { exponentialBuckets, type Histogram, Instruments } from '#machinery/metrics/instruments.ts';
import { ControllerBuilder, only } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';

type ReadJob = Immutable<Job>;

export class TtlAfterFinishedController implements Controller {
  readonly name = 'ttl-after-finished-controller';
  readonly run: Controller['run'];
  readonly #config: ControllerConfig;
  readonly #jobs: SharedInformer<ReadJob>;
  readonly #delay: Histogram;

  constructor(config: ControllerConfig) {
    this.#config = config;
    const name = 'ttl_after_finished_controller_job_deletion_duration_seconds';
    const description = { name, help: 'From when a job could go to its deletion.' };
    this.#delay = (config.instruments ?? new Instruments())
      .histogram(description, exponentialBuckets(0.1, 2, 14))
      .with();
    const builder = new ControllerBuilder(config, {
      queue: 'ttl_jobs_to_delete',
      workers: 5,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#jobs = builder.for(jobs, {
      predicate: { ...only((job) => expiryOf(job) !== undefined), delete: false },
    });
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { client, clock } = this.#config;
    const cached = this.#jobs.lister.getByKey(key);
    const expiry = cached === undefined ? undefined : expiryOf(cached);
    if (cached === undefined || expiry === undefined) return reconciled;
    const leftMs = expiry - clock.now();
    if (leftMs > 0) return requeueAfter(leftMs);
    const { name, namespace = '', uid } = cached.metadata;
    const inNamespace = client.resource(jobs).namespace(namespace);
    try {
      // The TTL may have been increased, and the cache may be stale.
      const live = await inNamespace.get(name, { signal });
      const still = expiryOf(live);
      if (live.metadata.uid !== uid || still === undefined) return reconciled;
      if (still > clock.now()) return requeueAfter(still - clock.now());
      const preconditions = { uid, resourceVersion: live.metadata.resourceVersion };
      await inNamespace.delete(name, { preconditions, propagationPolicy: 'Foreground', signal });
      this.#delay.observe((clock.now() - still) / 1000);
    } catch (error) {
      if (apierrors.isNotFound(error)) return reconciled;
      throw error;
    }
    return reconciled;
  }
}

/**
 * Returns when the job expires, in milliseconds since the epoch; undefined if it has not ended, has
 * no TTL, or is being deleted.
 */
function expiryOf({ metadata, spec, status }: ReadJob): number | undefined {
  const { ttlSecondsAfterFinished: ttl } = spec;
  if (ttl === undefined || metadata.deletionTimestamp !== undefined) return undefined;
  const end = status.conditions?.find(
    (each) => (each.type === 'Complete' || each.type === 'Failed') && each.status === 'True',
  );
  const endedAt = parseTime(end?.lastTransitionTime);
  return endedAt === undefined ? undefined : endedAt + ttl * 1000;
}
