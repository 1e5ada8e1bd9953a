// The configuration file of the admission plugin EventRateLimit: the only list of its fields. It is
// read from disk and never served. `npm run generate` makes types.ts and index.ts.

import { f, groupVersion, kind, message } from '#api/machinery/schema/builder.ts';

export const schema = groupVersion(
  'eventratelimit.admission.k8s.io',
  'v1alpha1',
  'io.k8s.kubernetes.plugin.pkg.admission.eventratelimit.apis.eventratelimit.v1alpha1',
  {
    Configuration: kind(() => [f('limits?', 1, '[]Limit')]),
    Limit: message(() => [
      f('type', 1, 'string'),
      f('qps', 2, 'int32'),
      f('burst', 3, 'int32'),
      f('cacheSize?', 4, 'int32'),
    ]),
  },
);
