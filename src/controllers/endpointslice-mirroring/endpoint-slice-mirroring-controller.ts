// Mirrors custom Endpoints of services without a selector into EndpointSlices, for clients that
// read slices.

import { endpoints, type Endpoints, type Service, services } from '#api/groups/core/v1/index.ts';
import type { EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import {
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { Instruments } from '#machinery/metrics/instruments.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { newControllerRef } from '../controller-ref.ts';
import { MirroringMetrics } from '../endpointslice/metrics.ts';
import { planSlices, type SliceTotals } from '../endpointslice/plan.ts';
import { sliceNamePrefix } from '../endpointslice/slice-metadata.ts';
import { SliceWriter } from '../endpointslice/slice-writer.ts';
import { isMirrored, mirroredAnnotations, mirroredGroups, mirroredLabels } from './mirrored.ts';

const MANAGER = 'endpointslicemirroring-controller.k8s.io';

const NO_TOTALS: SliceTotals = {
  added: 0,
  updated: 0,
  removed: 0,
  endpoints: 0,
  slices: 0,
  fewestSlices: 0,
};

export interface EndpointSliceMirroringConfig extends ControllerConfig {
  /** The number of keys that are reconciled at once. Default: 5. */
  readonly workers?: number;
  /** The maximum number of addresses that are mirrored per subset. Default: 1000. */
  readonly maxEndpointsPerSubset?: number;
}

export class EndpointSliceMirroringController implements Controller {
  readonly name = 'endpointslice-mirroring-controller';
  readonly run: Controller['run'];
  readonly #config: EndpointSliceMirroringConfig;
  readonly #services: SharedInformer<Immutable<Service>>;
  readonly #endpoints: SharedInformer<Immutable<Endpoints>>;
  readonly #writer: SliceWriter;
  readonly #recorder: EventRecorder;
  readonly #metrics: MirroringMetrics;

  constructor(config: EndpointSliceMirroringConfig) {
    const { client, clock, workers = 5 } = config;
    this.#config = config;
    this.#metrics = new MirroringMetrics(config.instruments ?? new Instruments());
    const builder = new ControllerBuilder(config, {
      queue: 'endpoint_slice_mirroring',
      workers,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#recorder = builder.recorder('endpoint-slice-mirroring-controller');
    this.#services = builder.for(services);
    this.#endpoints = builder.watches(endpoints, objectKey);
    this.#writer = new SliceWriter({
      client,
      clock,
      informers: builder,
      managedBy: MANAGER,
      onChange: (key) => builder.queue.add(key),
      metrics: this.#metrics,
    });
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const waitMs = this.#writer.remainingMs(key);
    if (waitMs > 0) return requeueAfter(waitMs);
    const object = this.#endpoints.lister.getByKey(key);
    const existing = this.#writer.slicesOf(key);
    const { clock } = this.#config;
    const begun = clock.monotonic();
    try {
      if (object === undefined || !isMirrored(object, this.#services.lister.getByKey(key))) {
        this.#metrics.forget(key);
        for (const slice of existing) await this.#writer.remove(slice, signal);
        if (object === undefined) this.#writer.forget(key);
      } else await this.#mirror(key, object, existing, signal);
      return reconciled;
    } catch (error) {
      // The decision was based on stale objects.
      if (apierrors.isConflict(error) || apierrors.isNotFound(error)) return requeue;
      throw error;
    } finally {
      this.#metrics.took((clock.monotonic() - begun) / 1000);
    }
  }

  async #mirror(
    key: string,
    object: Immutable<Endpoints>,
    existing: readonly Immutable<EndpointSlice>[],
    signal: AbortSignal,
  ): Promise<void> {
    const { maxEndpointsPerSubset = 1000 } = this.#config;
    const { groups, invalid, skipped } = mirroredGroups(object, maxEndpointsPerSubset);
    this.#metrics.skipped(skipped);
    const warn = (reason: string, message: string): void =>
      this.#recorder.event(object, 'Warning', reason, message);
    if (invalid > 0)
      warn(
        'InvalidIPAddress',
        `Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`,
      );
    if (skipped > invalid) {
      const most =
        `A max of ${maxEndpointsPerSubset} addresses can be mirrored to EndpointSlices per ` +
        'Endpoints subset.';
      warn('TooManyAddressesToMirror', `${most} ${skipped} addresses were skipped`);
    }
    const labels = mirroredLabels(object, MANAGER);
    const annotations = mirroredAnnotations(object);
    const frame = {
      key,
      generateName: sliceNamePrefix(object.metadata.name),
      labels,
      annotations,
      ownerReferences: [newControllerRef(object.metadata, { apiVersion: 'v1', kind: 'Endpoints' })],
    };
    const isOutdated = ({ metadata }: Immutable<EndpointSlice>): boolean =>
      !semanticEqual(metadata.labels, labels) ||
      !semanticEqual(metadata.annotations ?? {}, annotations);
    const totals: SliceTotals[] = [];
    for (const addressType of ['IPv4', 'IPv6'] as const) {
      const own = existing.filter((slice) => slice.addressType === addressType);
      // Without endpoints, no slice is created, not even an empty one.
      if (groups[addressType].length === 0) {
        const removed = own.reduce((sum, { endpoints: before }) => sum + (before ?? []).length, 0);
        totals.push({ ...NO_TOTALS, removed });
        for (const slice of own) await this.#writer.remove(slice, signal);
        continue;
      }
      const plan = planSlices({
        groups: groups[addressType],
        existing: own,
        maxEndpoints: maxEndpointsPerSubset,
        isOutdated,
      });
      totals.push(plan.totals);
      await this.#writer.carryOut(
        plan,
        { ...frame, addressType, replaceAnnotations: true },
        signal,
      );
    }
    this.#metrics.looked(key, totals);
  }
}
