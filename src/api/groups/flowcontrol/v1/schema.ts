// Every type of flowcontrol.apiserver.k8s.io/v1: the only list of their fields. `npm run generate`
// makes types.ts and index.ts from it.

import {
  atomic,
  f,
  groupVersion,
  kind,
  openEnum,
  mapList,
  merge,
  message,
  optional,
  resource,
  set,
  union,
} from '#api/machinery/schema/builder.ts';

export const schema = groupVersion(
  'flowcontrol.apiserver.k8s.io',
  'v1',
  'io.k8s.api.flowcontrol.v1',
  {
    FlowSchema: resource(
      { resource: 'flowschemas', scope: 'Cluster', subresources: ['status'] },
      () => [
        f('metadata?', 1, 'meta/v1.ObjectMeta'),
        f('spec?', 2, 'FlowSchemaSpec'),
        f('status?', 3, 'FlowSchemaStatus'),
      ],
    ),
    FlowSchemaList: kind(() => [
      f('metadata?', 1, 'meta/v1.ListMeta'),
      f('items', 2, '[]FlowSchema'),
    ]),
    FlowSchemaSpec: message(() => [
      f('priorityLevelConfiguration', 1, 'PriorityLevelConfigurationReference'),
      f('matchingPrecedence', 2, 'int32', optional),
      f('distinguisherMethod?', 3, '*FlowDistinguisherMethod'),
      f('rules?', 4, '[]PolicyRulesWithSubjects', atomic),
    ]),
    FlowDistinguisherMethodType: openEnum('ByUser', 'ByNamespace'),
    FlowDistinguisherMethod: message(() => [f('type', 1, 'FlowDistinguisherMethodType')]),
    PriorityLevelConfigurationReference: message(() => [f('name', 1, 'string')]),
    PolicyRulesWithSubjects: message(() => [
      f('subjects', 1, '[]Subject', atomic),
      f('resourceRules?', 2, '[]ResourcePolicyRule', atomic),
      f('nonResourceRules?', 3, '[]NonResourcePolicyRule', atomic),
    ]),
    Subject: union(
      () => [
        f('kind', 1, 'SubjectKind'),
        f('user?', 2, '*UserSubject'),
        f('group?', 3, '*GroupSubject'),
        f('serviceAccount?', 4, '*ServiceAccountSubject'),
      ],
      'kind',
    ),
    SubjectKind: openEnum('User', 'Group', 'ServiceAccount'),
    UserSubject: message(() => [f('name', 1, 'string')]),
    GroupSubject: message(() => [f('name', 1, 'string')]),
    ServiceAccountSubject: message(() => [f('namespace', 1, 'string'), f('name', 2, 'string')]),
    ResourcePolicyRule: message(() => [
      f('verbs', 1, '[]string', set),
      f('apiGroups', 2, '[]string', set),
      f('resources', 3, '[]string', set),
      f('clusterScope?', 4, 'bool'),
      f('namespaces', 5, '[]string', optional, set),
    ]),
    NonResourcePolicyRule: message(() => [
      f('verbs', 1, '[]string', set),
      f('nonResourceURLs', 6, '[]string', set),
    ]),
    FlowSchemaStatus: message(() => [
      f('conditions?', 1, '[]FlowSchemaCondition', mapList('type'), merge('type')),
    ]),
    FlowSchemaCondition: message(() => [
      f('type?', 1, 'string'),
      f('status?', 2, 'ConditionStatus'),
      f('lastTransitionTime?', 3, 'time'),
      f('reason?', 4, 'string'),
      f('message?', 5, 'string'),
    ]),
    PriorityLevelConfiguration: resource(
      { resource: 'prioritylevelconfigurations', scope: 'Cluster', subresources: ['status'] },
      () => [
        f('metadata?', 1, 'meta/v1.ObjectMeta'),
        f('spec?', 2, 'PriorityLevelConfigurationSpec'),
        f('status?', 3, 'PriorityLevelConfigurationStatus'),
      ],
    ),
    PriorityLevelConfigurationList: kind(() => [
      f('metadata?', 1, 'meta/v1.ListMeta'),
      f('items', 2, '[]PriorityLevelConfiguration'),
    ]),
    PriorityLevelConfigurationSpec: union(
      () => [
        f('type', 1, 'PriorityLevelEnablement'),
        f('limited?', 2, '*LimitedPriorityLevelConfiguration'),
        f('exempt?', 3, '*ExemptPriorityLevelConfiguration'),
      ],
      'type',
    ),
    PriorityLevelEnablement: openEnum('Exempt', 'Limited'),
    LimitedPriorityLevelConfiguration: message(() => [
      f('nominalConcurrencyShares', 1, '*int32', optional),
      f('limitResponse?', 2, 'LimitResponse'),
      f('lendablePercent?', 3, '*int32'),
      f('borrowingLimitPercent?', 4, '*int32'),
    ]),
    ExemptPriorityLevelConfiguration: message(() => [
      f('nominalConcurrencyShares?', 1, '*int32'),
      f('lendablePercent?', 2, '*int32'),
    ]),
    LimitResponse: union(
      () => [f('type', 1, 'LimitResponseType'), f('queuing?', 2, '*QueuingConfiguration')],
      'type',
    ),
    LimitResponseType: openEnum('Queue', 'Reject'),
    QueuingConfiguration: message(() => [
      f('queues', 1, 'int32', optional),
      f('handSize', 2, 'int32', optional),
      f('queueLengthLimit', 3, 'int32', optional),
    ]),
    PriorityLevelConfigurationStatus: message(() => [
      f('conditions?', 1, '[]PriorityLevelConfigurationCondition', mapList('type'), merge('type')),
    ]),
    PriorityLevelConfigurationCondition: message(() => [
      f('type?', 1, 'string'),
      f('status?', 2, 'ConditionStatus'),
      f('lastTransitionTime?', 3, 'time'),
      f('reason?', 4, 'string'),
      f('message?', 5, 'string'),
    ]),
    ConditionStatus: openEnum('True', 'False', 'Unknown'),
  },
);
