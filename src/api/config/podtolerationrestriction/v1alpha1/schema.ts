// The configuration file of the admission plugin PodTolerationRestriction: the only list of its
// fields. It is read from disk and never served. `npm run generate` makes types.ts and index.ts.

import { f, groupVersion, kind } from '#api/machinery/schema/builder.ts';

export const schema = groupVersion(
  'podtolerationrestriction.admission.k8s.io',
  'v1alpha1',
  'io.k8s.kubernetes.plugin.pkg.admission.podtolerationrestriction.apis.podtolerationrestriction.v1alpha1',
  {
    Configuration: kind(() => [
      f('default?', 1, '[]core/v1.Toleration'),
      f('whitelist?', 2, '[]core/v1.Toleration'),
    ]),
  },
);
