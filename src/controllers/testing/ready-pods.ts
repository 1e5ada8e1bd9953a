// Replaces scheduler and kubelets in tests of controllers that only wait for their pods: every pod
// runs and is ready at once. Pods without a node are gone as soon as they are deleted.

import { type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Controller, ControllerConfig } from '../controller.ts';

/** Makes pods ready. `isReady`: which pods. Default: all. */
export function readyPods(
  isReady: (pod: Immutable<Pod>) => boolean = () => true,
): (config: ControllerConfig) => Controller {
  return ({ client, clock, informers }) => {
    const informer = informers.informerFor(pods);
    const makeReady = async ({
      metadata: { name, namespace = '' },
    }: Immutable<Pod>): Promise<void> => {
      const condition = {
        type: 'Ready',
        status: 'True',
        lastTransitionTime: formatTime(clock.now()),
      };
      const status = { phase: 'Running', conditions: [condition] };
      try {
        await client
          .resource(pods)
          .namespace(namespace)
          .patch(
            name,
            'application/strategic-merge-patch+json',
            { status },
            { subresource: 'status' },
          );
      } catch (error) {
        if (!apierrors.isNotFound(error)) throw error;
      }
    };
    informer.addEventHandler({ onAdd: (pod) => void (isReady(pod) ? makeReady(pod) : undefined) });
    return {
      name: 'ready-pods',
      run: (signal) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
    };
  };
}
