// The policy file of the audit log: the only list of its fields. It is read from disk and never
// served. `npm run generate` makes types.ts and index.ts.

import { f, groupVersion, kind, message } from '#api/machinery/schema/builder.ts';

export const schema = groupVersion('audit.k8s.io', 'v1', 'io.k8s.apiserver.pkg.apis.audit.v1', {
  Policy: kind(() => [
    f('metadata?', 1, 'meta/v1.ObjectMeta'),
    f('rules', 2, '[]PolicyRule'),
    f('omitStages?', 3, '[]string'),
    f('omitManagedFields?', 4, 'bool'),
  ]),
  PolicyRule: message(() => [
    f('level', 1, 'string'),
    f('users?', 2, '[]string'),
    f('userGroups?', 3, '[]string'),
    f('verbs?', 4, '[]string'),
    f('resources?', 5, '[]GroupResources'),
    f('namespaces?', 6, '[]string'),
    f('nonResourceURLs?', 7, '[]string'),
    f('omitStages?', 8, '[]string'),
    f('omitManagedFields?', 9, '*bool'),
  ]),
  GroupResources: message(() => [
    f('group?', 1, 'string'),
    f('resources?', 2, '[]string'),
    f('resourceNames?', 3, '[]string'),
  ]),
});
