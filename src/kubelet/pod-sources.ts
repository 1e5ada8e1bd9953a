// Passes the API's pods to the handler, and mirror pods to the static pods.

import type { InformerView } from '#client/informers/index.ts';
import { isMirrorPod } from './static-pods/mirror-pods.ts';
import type { PodHandler } from './pod-handler.ts';
import type { StaticPods } from './static-pods/static-pods.ts';
import type { StatusManager } from './status/status-manager.ts';
import { podUid, type Pod } from './types.ts';

/**
 * Passes on every pod that the informer has, and every change until the signal aborts. `onChange` is
 * called after each.
 */
export function watchApiPods(
  informer: InformerView<Pod>,
  handler: PodHandler,
  staticPods: StaticPods | undefined,
  statuses: StatusManager,
  onChange: () => void,
  signal: AbortSignal,
): void {
  /**
   * Compares the mirror with the written status: a mirror that was created again gets its status
   * again.
   */
  const mirrorSeen = (mirror: Pod): void => {
    const pod = staticPods?.mirrorSeen(mirror);
    if (pod === undefined) return;
    const metadata = { ...pod.metadata, resourceVersion: mirror.metadata.resourceVersion };
    statuses.observe({ ...pod, metadata, status: mirror.status });
  };
  const added = (pod: Pod): void => (isMirrorPod(pod) ? mirrorSeen(pod) : handler.podAdded(pod));
  const updated = (pod: Pod): void =>
    isMirrorPod(pod) ? mirrorSeen(pod) : handler.podUpdated(pod);
  const deleted = (pod: Pod): void =>
    isMirrorPod(pod) ? staticPods?.mirrorDeleted(pod) : handler.podDeleted(pod);
  const registration = informer.addEventHandler({
    onAdd: (pod) => {
      added(pod);
      onChange();
    },
    onUpdate: (previous, pod) => {
      if (podUid(previous) === podUid(pod)) updated(pod);
      else {
        // Another pod of the same name: the previous one was deleted in between.
        deleted(previous);
        added(pod);
      }
      onChange();
    },
    onDelete: (pod) => {
      deleted(pod);
      onChange();
    },
  });
  signal.addEventListener('abort', () => registration.remove(), { once: true });
}
