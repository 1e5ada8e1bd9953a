// The flow schemas and priority levels of every new cluster. Every request needs the mandatory
// ones, so their spec cannot be changed. The suggested ones separate the cluster's own requests
// from those of workloads, and users may change them.

import type {
  FlowSchemaSpec,
  PolicyRulesWithSubjects,
  PriorityLevelConfigurationSpec,
  Subject,
} from './types.ts';

export interface BootstrapFlowSchema {
  readonly name: string;
  readonly mandatory: boolean;
  readonly spec: FlowSchemaSpec;
}

export interface BootstrapPriorityLevel {
  readonly name: string;
  readonly mandatory: boolean;
  readonly spec: PriorityLevelConfigurationSpec;
}

/** An annotation on every object that the server creates: 'true' while the server may update it. */
export const AUTO_UPDATE_ANNOTATION = 'apf.kubernetes.io/autoupdate-spec';
export const EXEMPT = 'exempt';
const CATCH_ALL = 'catch-all';

type Queuing = readonly [queues: number, handSize: number];

function limited(
  shares: number,
  lendablePercent: number,
  queuing?: Queuing,
): PriorityLevelConfigurationSpec {
  const limitResponse =
    queuing === undefined
      ? { type: 'Reject' }
      : {
          type: 'Queue',
          queuing: { queues: queuing[0], handSize: queuing[1], queueLengthLimit: 50 },
        };
  return {
    type: 'Limited',
    limited: { nominalConcurrencyShares: shares, limitResponse, lendablePercent },
  };
}

export const PRIORITY_LEVELS: readonly BootstrapPriorityLevel[] = [
  { name: CATCH_ALL, mandatory: true, spec: limited(5, 0) },
  {
    name: EXEMPT,
    mandatory: true,
    spec: { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
  },
  { name: 'system', mandatory: false, spec: limited(30, 33, [64, 6]) },
  { name: 'node-high', mandatory: false, spec: limited(40, 25, [64, 6]) },
  { name: 'leader-election', mandatory: false, spec: limited(10, 0, [16, 4]) },
  { name: 'workload-high', mandatory: false, spec: limited(40, 50, [128, 6]) },
  { name: 'workload-low', mandatory: false, spec: limited(100, 90, [128, 6]) },
  { name: 'global-default', mandatory: false, spec: limited(20, 50, [128, 6]) },
];

const groups = (...names: readonly string[]): Subject[] =>
  names.map((name) => ({ kind: 'Group', group: { name } }));
const users = (...names: readonly string[]): Subject[] =>
  names.map((name) => ({ kind: 'User', user: { name } }));
const systemAccounts = (...names: readonly string[]): Subject[] =>
  names.map((name) => ({
    kind: 'ServiceAccount',
    serviceAccount: { namespace: 'kube-system', name },
  }));

type Resources = readonly [
  verbs: readonly string[],
  group: string,
  resources: readonly string[],
  namespace: string,
  clusterScope: boolean,
];

function some(subjects: Subject[], ...rules: readonly Resources[]): PolicyRulesWithSubjects {
  const resourceRules = rules.map(([verbs, group, resources, namespace, clusterScope]) => ({
    verbs: [...verbs],
    apiGroups: [group],
    resources: [...resources],
    ...(clusterScope && { clusterScope }),
    namespaces: [namespace],
  }));
  return { subjects, resourceRules };
}

function all(subjects: Subject[]): PolicyRulesWithSubjects {
  const nonResourceRules = [{ verbs: ['*'], nonResourceURLs: ['*'] }];
  return { ...some(subjects, [['*'], '*', ['*'], '*', true]), nonResourceRules };
}

function spec(
  level: string,
  matchingPrecedence: number,
  distinguisher: 'ByUser' | 'ByNamespace' | undefined,
  rule: PolicyRulesWithSubjects,
): FlowSchemaSpec {
  return {
    priorityLevelConfiguration: { name: level },
    matchingPrecedence,
    ...(distinguisher !== undefined && { distinguisherMethod: { type: distinguisher } }),
    rules: [rule],
  };
}

const EVERYBODY = ['system:unauthenticated', 'system:authenticated'] as const;
const ELECTION = ['get', 'create', 'update'] as const;
const LEASES: Resources = [ELECTION, 'coordination.k8s.io', ['leases'], '*', false];
const PROBES = { verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] };

export const FLOW_SCHEMAS: readonly BootstrapFlowSchema[] = [
  {
    name: EXEMPT,
    mandatory: true,
    spec: spec(EXEMPT, 1, undefined, all(groups('system:masters'))),
  },
  {
    name: CATCH_ALL,
    mandatory: true,
    spec: spec(CATCH_ALL, 10_000, 'ByUser', all(groups(...EVERYBODY))),
  },
  {
    name: 'system-nodes',
    mandatory: false,
    spec: spec('system', 500, 'ByUser', all(groups('system:nodes'))),
  },
  {
    name: 'system-node-high',
    mandatory: false,
    spec: spec(
      'node-high',
      400,
      'ByUser',
      some(
        groups('system:nodes'),
        [['*'], '', ['nodes', 'nodes/status'], '*', true],
        [['*'], 'coordination.k8s.io', ['leases'], '*', false],
      ),
    ),
  },
  {
    name: 'probes',
    mandatory: false,
    spec: spec(EXEMPT, 2, undefined, {
      subjects: groups(...EVERYBODY),
      nonResourceRules: [PROBES],
    }),
  },
  {
    name: 'system-leader-election',
    mandatory: false,
    spec: spec(
      'leader-election',
      100,
      'ByUser',
      some(
        [
          ...users('system:kube-controller-manager', 'system:kube-scheduler'),
          ...systemAccounts('*'),
        ],
        LEASES,
      ),
    ),
  },
  {
    name: 'kube-controller-manager',
    mandatory: false,
    spec: spec('workload-high', 800, 'ByNamespace', all(users('system:kube-controller-manager'))),
  },
  {
    name: 'kube-scheduler',
    mandatory: false,
    spec: spec('workload-high', 800, 'ByNamespace', all(users('system:kube-scheduler'))),
  },
  {
    name: 'kube-system-service-accounts',
    mandatory: false,
    spec: spec('workload-high', 900, 'ByNamespace', all(systemAccounts('*'))),
  },
  {
    name: 'service-accounts',
    mandatory: false,
    spec: spec('workload-low', 9000, 'ByUser', all(groups('system:serviceaccounts'))),
  },
  {
    name: 'global-default',
    mandatory: false,
    spec: spec('global-default', 9900, 'ByUser', all(groups(...EVERYBODY))),
  },
];
