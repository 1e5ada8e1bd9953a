// Every type of apiregistration.k8s.io/v1: the only list of their fields. `npm run generate` makes
// types.ts and index.ts from it.

import {
  atomic,
  f,
  groupVersion,
  kind,
  openEnum,
  mapList,
  merge,
  message,
  resource,
} from '#api/machinery/schema/builder.ts';

export const schema = groupVersion(
  'apiregistration.k8s.io',
  'v1',
  'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1',
  {
    APIServiceList: kind(() => [
      f('metadata?', 1, 'meta/v1.ListMeta'),
      f('items', 2, '[]APIService'),
    ]),
    ServiceReference: message(() => [
      f('namespace?', 1, 'string'),
      f('name?', 2, 'string'),
      f('port?', 3, '*int32'),
    ]),
    APIServiceSpec: message(() => [
      f('service?', 1, '*ServiceReference'),
      f('group?', 2, 'string'),
      f('version?', 3, 'string'),
      f('insecureSkipTLSVerify?', 4, 'bool'),
      f('caBundle?', 5, 'bytes', atomic),
      f('groupPriorityMinimum', 7, 'int32'),
      f('versionPriority', 8, 'int32'),
    ]),
    ConditionStatus: openEnum('True', 'False', 'Unknown'),
    APIServiceConditionType: openEnum('Available'),
    APIServiceCondition: message(() => [
      f('type', 1, 'APIServiceConditionType'),
      f('status', 2, 'ConditionStatus'),
      f('lastTransitionTime?', 3, 'time'),
      f('reason?', 4, 'string'),
      f('message?', 5, 'string'),
    ]),
    APIServiceStatus: message(() => [
      f('conditions?', 1, '[]APIServiceCondition', mapList('type'), merge('type')),
    ]),
    APIService: resource(
      {
        resource: 'apiservices',
        scope: 'Cluster',
        categories: ['api-extensions'],
        subresources: ['status'],
      },
      () => [
        f('metadata?', 1, 'meta/v1.ObjectMeta'),
        f('spec?', 2, 'APIServiceSpec'),
        f('status?', 3, 'APIServiceStatus'),
      ],
    ),
  },
);
