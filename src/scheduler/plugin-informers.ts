// Passes events of resources other than pods and nodes from informers to the queue, if plugins
// registered for them.

import {
  namespaces,
  persistentVolumeClaims,
  persistentVolumes,
} from '#api/groups/core/v1/index.ts';
import { deviceClasses, resourceClaims, resourceSlices } from '#api/groups/resource/v1/index.ts';
import {
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  storageClasses,
  volumeAttachments,
} from '#api/groups/storage/v1/index.ts';
import type {
  EventHandler,
  HandlerRegistration,
  SharedInformerFactory,
} from '#client/informers/index.ts';
import {
  ActionType,
  clusterEvent,
  type ClusterEventWithHint,
  type EventResource,
  UPDATE,
} from './framework/events.ts';
import type { SchedulingQueue } from './queue/scheduling-queue.ts';

type Watched = Exclude<EventResource, 'Pod' | 'AssignedPod' | 'UnscheduledPod' | 'Node' | '*'>;
type AddHandler = (
  informers: SharedInformerFactory,
  handler: EventHandler<unknown>,
) => HandlerRegistration;

const INFORMERS: Readonly<Record<Watched, AddHandler>> = {
  Namespace: (informers, handler) => informers.informerFor(namespaces).addEventHandler(handler),
  PersistentVolume: (informers, handler) =>
    informers.informerFor(persistentVolumes).addEventHandler(handler),
  PersistentVolumeClaim: (informers, handler) =>
    informers.informerFor(persistentVolumeClaims).addEventHandler(handler),
  StorageClass: (informers, handler) =>
    informers.informerFor(storageClasses).addEventHandler(handler),
  CSINode: (informers, handler) => informers.informerFor(csiNodes).addEventHandler(handler),
  CSIDriver: (informers, handler) => informers.informerFor(csiDrivers).addEventHandler(handler),
  CSIStorageCapacity: (informers, handler) =>
    informers.informerFor(csiStorageCapacities).addEventHandler(handler),
  VolumeAttachment: (informers, handler) =>
    informers.informerFor(volumeAttachments).addEventHandler(handler),
  ResourceClaim: (informers, handler) =>
    informers.informerFor(resourceClaims).addEventHandler(handler),
  ResourceSlice: (informers, handler) =>
    informers.informerFor(resourceSlices).addEventHandler(handler),
  DeviceClass: (informers, handler) =>
    informers.informerFor(deviceClasses).addEventHandler(handler),
};

/**
 * Adds handlers for resources that are registered by name; a registration for everything starts no
 * informer. An update counts as every type of update: the plugin's hint decides.
 */
export function addPluginEventHandlers(
  registered: Iterable<ClusterEventWithHint>,
  informers: SharedInformerFactory,
  queue: SchedulingQueue,
): readonly HandlerRegistration[] {
  const resources = new Set<Watched>();
  for (const { event } of registered)
    if (event.resource in INFORMERS) resources.add(event.resource as Watched);
  return Array.from(resources, (resource) => {
    const added = clusterEvent(resource, ActionType.Add, `${resource}Add`);
    const updated = clusterEvent(resource, UPDATE, `${resource}Update`);
    const deleted = clusterEvent(resource, ActionType.Delete, `${resource}Delete`);
    return INFORMERS[resource](informers, {
      onAdd: (after) => queue.moveAll(added, { after }),
      onUpdate: (before, after) => queue.moveAll(updated, { before, after }),
      onDelete: (before) => queue.moveAll(deleted, { before }),
    });
  });
}
