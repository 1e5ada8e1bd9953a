// A finished pod is counted twice, as a crash comes between counting it and letting it go.

import * as apierrors from '#machinery/apierrors.ts';
import { type ExploredExhibit, issue } from '../exhibit.ts';
import { declare, ignoring, specController } from '../parts.ts';
import { secrets } from '#api/groups/core/v1/index.ts';

export const exhibit: ExploredExhibit = {
  bug: 'a finished pod is counted twice after a crash between the count and the removal',
  sources: [
    issue(125410),
    'https://github.com/kubernetes/enhancements/tree/master/keps/sig-apps/2307-job-tracking-without-lingering-pods',
  ],
  // It is counted again until the deletion has been observed.
  found: /write 1.*"failed":"(?!1")/s,
  reconciler: (fixed) =>
    specController('jobs', ({ parts, remove, live, note }) => async (_, request) => {
      const pods = parts(request, 'pod');
      // The count is read from the server, so that only the pods may be stale.
      const spec = await live(request);
      if (spec === undefined) return;
      const counted = (spec.data?.['counted'] ?? '').split(',');
      for (const pod of pods) {
        const { uid = '' } = pod.metadata;
        if (!fixed || !counted.includes(uid)) {
          const failed = Number(spec.data?.['failed'] ?? 0) + 1;
          await note(request, { failed: String(failed), ...(fixed && { counted: uid }) });
        }
        await remove(pod).catch(ignoring(apierrors.isNotFound));
      }
    }),
  test: async (run) => {
    await declare(run, 'job', {});
    await run.settle();
    await run.cluster.client.resource(secrets).create({
      metadata: { name: 'job-pod', namespace: run.namespace, labels: { of: 'job', type: 'pod' } },
    });
  },
};
