// The oldest form of a rolling update: deletes the pods of a controller one by one, and the
// controller creates them again.

import { formatDuration } from '#machinery/text/duration.ts';
import { pollImmediately, WaitTimeoutError } from '#machinery/wait.ts';
import { isReady, NamespaceAccess } from './access.ts';
import { RollingUpdateError } from './errors.ts';
import type { Controller, RecreateOptions } from './types.ts';

/**
 * Deletes the pods of a controller one by one, `updatePeriodMs` apart, and waits until all replicas
 * are ready again. Rejects with WaitTimeoutError after `timeoutMs`.
 */
export async function recreatePods(options: RecreateOptions): Promise<Controller> {
  const { client, namespace, clock, signal, name, image, onProgress } = options;
  const { updatePeriodMs = 60_000, pollIntervalMs = 3000, timeoutMs = 300_000 } = options;
  const timing = { clock, pollIntervalMs, timeoutMs, ...(signal !== undefined && { signal }) };
  const access = new NamespaceAccess(client, namespace, timing);
  const controller =
    image === undefined
      ? await access.controllers.get(name)
      : await access.change(name, (current) => withTemplateImage(current, image));
  const old = await access.podsOf(controller);
  const deleted = new Set(old.map(({ metadata }) => metadata.uid));
  for (const { metadata } of old) {
    onProgress?.(`Deleting pod ${metadata.name}`);
    await access.deletePod(metadata.name);
    await access.sleep(updatePeriodMs);
  }
  const expected = controller.spec.replicas ?? 1;
  let back = 0;
  try {
    await pollImmediately(access.poll(), async () => {
      const pods = await access.podsOf(controller);
      back = pods.filter((pod) => isReady(pod) && !deleted.has(pod.metadata.uid)).length;
      return back >= expected;
    });
  } catch (error) {
    if (!(error instanceof WaitTimeoutError)) throw error;
    throw new WaitTimeoutError(
      `timed out waiting for the pods of ${name}: ${back} of ${expected} are back after ${formatDuration(timeoutMs)}`,
    );
  }
  return access.controllers.get(name);
}

function withTemplateImage(controller: Controller, image: string): Controller {
  const { template } = controller.spec;
  const [container, ...others] = template?.spec.containers ?? [];
  if (template === undefined || container === undefined || others.length > 0)
    throw new RollingUpdateError('--recreate with --image needs a pod with one container');
  const spec = { ...template.spec, containers: [{ ...container, image }] };
  return { ...controller, spec: { ...controller.spec, template: { ...template, spec } } };
}
