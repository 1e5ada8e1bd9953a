// The configuration file of the admission plugin PodSecurity: the only list of its fields. It is
// read from disk and never served. `npm run generate` makes types.ts and index.ts.

import { f, groupVersion, kind, message } from '#api/machinery/schema/builder.ts';

export const schema = groupVersion(
  'pod-security.admission.config.k8s.io',
  'v1',
  'io.k8s.pod-security-admission.admission.api.v1',
  {
    PodSecurityConfiguration: kind(() => [
      f('defaults', 1, 'PodSecurityDefaults'),
      f('exemptions', 2, 'PodSecurityExemptions'),
    ]),
    PodSecurityDefaults: message(() => [
      f('enforce?', 1, 'string'),
      f('enforce-version?', 2, 'string'),
      f('audit?', 3, 'string'),
      f('audit-version?', 4, 'string'),
      f('warn?', 5, 'string'),
      f('warn-version?', 6, 'string'),
    ]),
    PodSecurityExemptions: message(() => [
      f('usernames?', 1, '[]string'),
      f('namespaces?', 2, '[]string'),
      f('runtimeClasses?', 3, '[]string'),
    ]),
  },
);
