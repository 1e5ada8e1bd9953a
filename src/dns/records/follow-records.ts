// Keeps the record index equal to the cluster's Services, EndpointSlices and Namespaces.

import { namespaces, services, type Namespace } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { objectKey, SharedInformer } from '#client/informers/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import {
  packSlice,
  packService,
  SERVICE_NAME_LABEL,
  type PackedService,
  type PackedSlice,
} from './packed.ts';
import type { RecordIndex } from './record-index.ts';

export interface FollowRecordsConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly index: RecordIndex;
}

export interface RecordFollower {
  /** Runs until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Reports whether all initial objects are in the index. */
  hasSynced(): boolean;
  waitForSync(signal: AbortSignal): Promise<void>;
}

export function followRecords(config: FollowRecordsConfig): RecordFollower {
  const { client, index, clock, random, logger } = config;
  /** Returns an informer that keeps only a packed form of each object. */
  const packing = <T extends KubeObject, P extends KubeObject>(
    type: ResourceType<T>,
    pack: (object: Immutable<T>) => P,
    labelSelector?: string,
  ): SharedInformer<P> =>
    new SharedInformer<P>({
      name: `dns ${type.resource}`,
      source: client.resource(type) as never,
      transform: (object) => pack(object as unknown as Immutable<T>),
      labelSelector,
      clock,
      random,
      logger,
    });
  const serviceInformer = packing<KubeObject, PackedService>(services, packService as never);
  const sliceInformer = packing<KubeObject, PackedSlice>(
    endpointSlices,
    packSlice as never,
    SERVICE_NAME_LABEL,
  );
  const namespaceInformer = packing<Namespace, KubeObject>(namespaces, ({ metadata }) => ({
    metadata: {
      name: metadata.name,
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      creationTimestamp: metadata.creationTimestamp,
    },
  }));
  namespaceInformer.addEventHandler({
    onAdd: ({ metadata }) => index.addNamespace(metadata.name),
    onDelete: ({ metadata }) => index.removeNamespace(metadata.name),
  });
  serviceInformer.addEventHandler({
    onAdd: (service) => index.putService(service),
    onUpdate: (_previous, service) => index.putService(service),
    onDelete: ({ key }) => index.removeService(key),
  });
  sliceInformer.addEventHandler({
    onAdd: (slice) => index.putSlice(slice),
    onUpdate: (_previous, slice) => index.putSlice(slice),
    onDelete: (slice) => index.removeSlice(objectKey(slice)),
  });
  const informers = [namespaceInformer, serviceInformer, sliceInformer];
  return {
    async run(signal) {
      await Promise.all(informers.map((informer) => informer.run(signal)));
    },
    hasSynced: () => informers.every((informer) => informer.hasSynced()),
    async waitForSync(signal) {
      await Promise.all(informers.map((informer) => informer.waitForSync(signal)));
    },
  };
}
