// Admission and authorization: policies, quotas, limits, pod security, priorities, nodes, roles,
// reviews, impersonation.

import {
  APPS,
  as,
  type Call,
  configMap,
  CORE,
  deployment,
  get,
  patch,
  pod,
  post,
  remove,
} from './call.ts';

const REGISTRATION = '/apis/admissionregistration.k8s.io/v1';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const NAMESPACE = '/api/v1/namespaces/adm';
const named = (apiVersion: string, kind: string, name: string, more: object = {}): object => ({
  apiVersion,
  kind,
  metadata: { name },
  ...more,
});
const policy = (name: string, spec: object): object =>
  named('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicy', name, {
    spec: {
      matchConstraints: {
        namespaceSelector: { matchLabels: { policies: 'yes' } },
        resourceRules: [
          {
            apiGroups: [''],
            apiVersions: ['v1'],
            operations: ['CREATE', 'UPDATE', 'DELETE'],
            resources: ['configmaps'],
          },
        ],
      },
      ...spec,
    },
  });
const policyBinding = (name: string, spec: object): object =>
  named('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicyBinding', name, {
    spec: { policyName: name, validationActions: ['Deny'], ...spec },
  });
const VAP = `${REGISTRATION}/validatingadmissionpolicies`;
const VAPB = `${REGISTRATION}/validatingadmissionpolicybindings`;
const MAP = `${REGISTRATION}/mutatingadmissionpolicies`;
const data = (name: string, values: Readonly<Record<string, string>>): object =>
  configMap(name, { data: values });

const policies: readonly Call[] = [
  post('/api/v1/namespaces', {
    ...named('v1', 'Namespace', 'adm'),
    metadata: { name: 'adm', labels: { policies: 'yes' } },
  }),
  post(VAP, policy('bad.example.com', { validations: [] })),
  post(VAP, policy('bad.example.com', { validations: [{ expression: 'object.none ==' }] })),
  post(
    VAP,
    policy('bad.example.com', {
      validations: [
        { expression: '1', reason: 'X', message: 'a\nb', messageExpression: 'nothing' },
      ],
    }),
  ),
  post(
    VAP,
    policy('bad.example.com', {
      failurePolicy: 'X',
      paramKind: { kind: 'X' },
      variables: [
        { name: 'a b', expression: '1' },
        { name: 'a', expression: 'variables.b' },
      ],
      auditAnnotations: [{ key: '', valueExpression: '1' }],
      matchConditions: [{ name: 'x', expression: '' }],
    }),
  ),
  post(
    VAP,
    policy('Bad', {
      validations: [{ expression: 'true' }],
      matchConstraints: { resourceRules: [] },
    }),
  ),
  post(
    VAPB,
    policyBinding('Bad', {
      policyName: '',
      validationActions: ['X', 'Deny', 'Warn'],
      paramRef: {},
    }),
  ),
  post(
    MAP,
    named('admissionregistration.k8s.io/v1', 'MutatingAdmissionPolicy', 'bad', {
      spec: {
        mutations: [
          { patchType: 'X' },
          { patchType: 'JSONPatch', jsonPatch: { expression: '1' } },
          { patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{' } },
        ],
        reinvocationPolicy: 'X',
      },
    }),
  ),
  post(
    VAP,
    policy('deny.example.com', {
      variables: [{ name: 'size', expression: 'has(object.data) ? size(object.data) : 0' }],
      matchConditions: [{ name: 'not-deleted', expression: 'request.operation != "DELETE"' }],
      validations: [
        {
          expression: 'variables.size < 3',
          message: 'too many keys',
          reason: 'RequestEntityTooLarge',
        },
        { expression: '!("bad" in object.data)', messageExpression: '"bad is " + object.data.bad' },
        { expression: 'object.metadata.name != "plain"' },
        { expression: 'int(object.data.number) > 0 || true' },
      ],
      auditAnnotations: [{ key: 'size', valueExpression: 'string(variables.size)' }],
    }),
  ),
  post(VAPB, policyBinding('deny.example.com', { validationActions: ['Deny'] })),
  {
    ...post(`${NAMESPACE}/configmaps?dryRun=All`, data('probe', { a: '1', b: '2', c: '3' })),
    untilCode: 413,
  },
  post(`${NAMESPACE}/configmaps`, data('one', { bad: 'x', number: '1' })),
  post(`${NAMESPACE}/configmaps`, data('plain', { number: '1' })),
  post(`${NAMESPACE}/configmaps`, data('one', { number: 'x' })),
  post(`${NAMESPACE}/configmaps`, data('one', {})),
  post(`${NAMESPACE}/configmaps`, data('one', { number: '1' })),
  patch(`${NAMESPACE}/configmaps/one`, { data: { bad: 'y' } }),
  patch(`${VAPB}/deny.example.com`, { spec: { validationActions: ['Warn', 'Audit'] } }),
  {
    ...post(
      `${NAMESPACE}/configmaps?dryRun=All`,
      data('probe', { a: '1', b: '2', c: '3', number: '1' }),
    ),
    untilCode: 201,
  },
  patch(`${NAMESPACE}/configmaps/one`, { data: { bad: 'y' } }),
  get(`${VAP}/deny.example.com`),
  remove(`${VAPB}/deny.example.com`),
  remove(`${VAP}/deny.example.com`),
  remove(`${NAMESPACE}/configmaps/one`),
  post(
    MAP,
    named('admissionregistration.k8s.io/v1', 'MutatingAdmissionPolicy', 'label.example.com', {
      spec: {
        matchConstraints: {
          namespaceSelector: { matchLabels: { policies: 'yes' } },
          resourceRules: [
            {
              apiGroups: [''],
              apiVersions: ['v1'],
              operations: ['CREATE'],
              resources: ['secrets'],
            },
          ],
        },
        reinvocationPolicy: 'Never',
        failurePolicy: 'Fail',
        mutations: [
          {
            patchType: 'ApplyConfiguration',
            applyConfiguration: {
              expression: 'Object{metadata: Object.metadata{labels: {"added": "yes"}}}',
            },
          },
          {
            patchType: 'JSONPatch',
            jsonPatch: {
              expression:
                '[JSONPatch{op: "add", path: "/metadata/annotations", value: {"b": object.metadata.labels.added}}]',
            },
          },
        ],
      },
    }),
  ),
  post(
    `${REGISTRATION}/mutatingadmissionpolicybindings`,
    named(
      'admissionregistration.k8s.io/v1',
      'MutatingAdmissionPolicyBinding',
      'label.example.com',
      { spec: { policyName: 'label.example.com' } },
    ),
  ),
  remove(`${REGISTRATION}/mutatingadmissionpolicybindings/label.example.com`),
  remove(`${MAP}/label.example.com`),
];

const quota = (hard: object, more: object = {}): object =>
  named('v1', 'ResourceQuota', 'q', { spec: { hard, ...more } });
const used = (hard: object, values: object): object => ({ status: { hard, used: values } });
const HARD = {
  pods: '1',
  configmaps: '1',
  'requests.cpu': '1',
  'count/deployments.apps': '1',
  'services.nodeports': '1',
};
const ZERO = {
  pods: '0',
  configmaps: '0',
  'requests.cpu': '0',
  'count/deployments.apps': '0',
  'services.nodeports': '0',
};
const requests = (cpu: string): object => ({
  containers: [{ name: 'c', image: 'i', resources: { requests: { cpu } } }],
});

const quotas: readonly Call[] = [
  post(`${NAMESPACE}/resourcequotas`, quota(HARD)),
  post(`${NAMESPACE}/configmaps?dryRun=All`, configMap('q')),
  patch(`${NAMESPACE}/resourcequotas/q/status`, used(HARD, ZERO)),
  { ...post(`${NAMESPACE}/pods?dryRun=All`, pod('q', requests('5'))), untilCode: 403 },
  post(`${NAMESPACE}/pods`, pod('q')),
  post(`${NAMESPACE}/pods`, pod('q', requests('2'))),
  post(`${NAMESPACE}/pods`, pod('q', requests('500m'))),
  post(`${NAMESPACE}/pods`, pod('q2', requests('100m'))),
  post(`${NAMESPACE}/configmaps`, configMap('q')),
  post(`${NAMESPACE}/configmaps`, configMap('q2')),
  post(`/apis/apps/v1/namespaces/adm/deployments`, deployment('q')),
  post(`/apis/apps/v1/namespaces/adm/deployments`, deployment('q2')),
  post(
    `${NAMESPACE}/services`,
    named('v1', 'Service', 'q', {
      spec: { type: 'NodePort', ports: [{ port: 1 }, { port: 2, name: 'b' }] },
    }),
  ),
  get(`${NAMESPACE}/resourcequotas/q`),
  get(`${NAMESPACE}/resourcequotas/q`, 'application/json;as=Table;v=v1;g=meta.k8s.io'),
  remove(`${NAMESPACE}/pods/q?gracePeriodSeconds=0`),
  remove(`${NAMESPACE}/configmaps/q`),
  remove(`/apis/apps/v1/namespaces/adm/deployments/q`),
  remove(`${NAMESPACE}/resourcequotas/q`),
];

const limits: readonly Call[] = [
  post(
    `${NAMESPACE}/limitranges`,
    named('v1', 'LimitRange', 'l', {
      spec: {
        limits: [
          {
            type: 'Container',
            min: { cpu: '100m' },
            max: { cpu: '1', memory: '1Gi' },
            default: { cpu: '500m' },
            defaultRequest: { cpu: '200m' },
            maxLimitRequestRatio: { cpu: '4' },
          },
          { type: 'Pod', max: { cpu: '1500m' } },
          { type: 'PersistentVolumeClaim', min: { storage: '1Gi' }, max: { storage: '2Gi' } },
        ],
      },
    }),
  ),
  { ...post(`${NAMESPACE}/pods?dryRun=All`, pod('l', requests('50m'))), untilCode: 403 },
  post(`${NAMESPACE}/pods?dryRun=All`, pod('l', requests('5'))),
  post(`${NAMESPACE}/pods?dryRun=All`, pod('l')),
  post(`${NAMESPACE}/pods?dryRun=All`, pod('l', requests('50m'))),
  post(
    `${NAMESPACE}/pods?dryRun=All`,
    pod('l', {
      containers: [
        { name: 'a', image: 'i', resources: { limits: { cpu: '1', memory: '1Gi' } } },
        { name: 'b', image: 'i', resources: { limits: { cpu: '1' }, requests: { cpu: '100m' } } },
      ],
    }),
  ),
  post(
    `${NAMESPACE}/persistentvolumeclaims?dryRun=All`,
    named('v1', 'PersistentVolumeClaim', 'l', {
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '3Gi' } } },
    }),
  ),
  remove(`${NAMESPACE}/limitranges/l`),
];

const privileged = {
  hostNetwork: true,
  hostPID: true,
  volumes: [{ name: 'h', hostPath: { path: '/' } }],
  containers: [
    {
      name: 'c',
      image: 'i',
      securityContext: { privileged: true, capabilities: { add: ['SYS_ADMIN'] } },
      ports: [{ containerPort: 80, hostPort: 80 }],
    },
  ],
};
const security: readonly Call[] = [
  patch('/api/v1/namespaces/adm', {
    metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'wrong' } },
  }),
  patch('/api/v1/namespaces/adm', {
    metadata: {
      labels: {
        'pod-security.kubernetes.io/enforce': 'baseline',
        'pod-security.kubernetes.io/warn': 'restricted',
        'pod-security.kubernetes.io/audit': 'restricted',
        'pod-security.kubernetes.io/enforce-version': 'v1.99',
      },
    },
  }),
  { ...post(`${NAMESPACE}/pods?dryRun=All`, pod('s', privileged)), untilCode: 403 },
  post(`${NAMESPACE}/pods?dryRun=All`, pod('s')),
  post(`/apis/apps/v1/namespaces/adm/deployments?dryRun=All`, deployment('s')),
  post(
    `/apis/apps/v1/namespaces/adm/deployments?dryRun=All`,
    deployment('s', { template: { metadata: { labels: { app: 's' } }, spec: privileged } }),
  ),
  patch('/api/v1/namespaces/adm', {
    metadata: {
      labels: {
        'pod-security.kubernetes.io/enforce': 'restricted',
        'pod-security.kubernetes.io/enforce-version': 'v1.24',
      },
    },
  }),
  { ...post(`${NAMESPACE}/pods?dryRun=All`, pod('s')), untilCode: 403 },
  patch('/api/v1/namespaces/adm', {
    metadata: {
      labels: {
        'pod-security.kubernetes.io/enforce': null,
        'pod-security.kubernetes.io/warn': null,
        'pod-security.kubernetes.io/audit': null,
        'pod-security.kubernetes.io/enforce-version': null,
      },
    },
  }),
];

const classes: readonly Call[] = [
  post(
    '/apis/scheduling.k8s.io/v1/priorityclasses',
    named('scheduling.k8s.io/v1', 'PriorityClass', 'high', {
      value: 100,
      preemptionPolicy: 'Never',
    }),
  ),
  post(
    '/apis/scheduling.k8s.io/v1/priorityclasses',
    named('scheduling.k8s.io/v1', 'PriorityClass', 'default', { value: 10, globalDefault: true }),
  ),
  post(
    '/apis/scheduling.k8s.io/v1/priorityclasses',
    named('scheduling.k8s.io/v1', 'PriorityClass', 'default2', { value: 10, globalDefault: true }),
  ),
  patch('/apis/scheduling.k8s.io/v1/priorityclasses/high', { value: 101 }),
  { ...post(`${CORE}/pods?dryRun=All`, pod('pc', { priorityClassName: 'high' })), untilCode: 201 },
  post(`${CORE}/pods?dryRun=All`, pod('pc', { priorityClassName: 'high', priority: 5 })),
  post(`${CORE}/pods?dryRun=All`, pod('pc', { priorityClassName: 'system-node-critical' })),
  post(`${CORE}/pods?dryRun=All`, pod('pc')),
  remove('/apis/scheduling.k8s.io/v1/priorityclasses/high'),
  remove('/apis/scheduling.k8s.io/v1/priorityclasses/default'),
  remove('/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical'),
  post(
    '/apis/node.k8s.io/v1/runtimeclasses',
    named('node.k8s.io/v1', 'RuntimeClass', 'rc', {
      handler: 'h',
      overhead: { podFixed: { cpu: '10m' } },
      scheduling: { nodeSelector: { a: 'b' }, tolerations: [{ key: 'x', operator: 'Exists' }] },
    }),
  ),
  { ...post(`${CORE}/pods?dryRun=All`, pod('rc', { runtimeClassName: 'rc' })), untilCode: 201 },
  post(`${CORE}/pods?dryRun=All`, pod('rc', { runtimeClassName: 'rc', overhead: { cpu: '1' } })),
  post(`${CORE}/pods?dryRun=All`, pod('rc', { runtimeClassName: 'rc', nodeSelector: { a: 'c' } })),
  remove('/apis/node.k8s.io/v1/runtimeclasses/rc'),
  post(
    `${CORE}/pods?dryRun=All`,
    pod('mirror', {}, { annotations: { 'kubernetes.io/config.mirror': 'x' } }),
  ),
  post(`${CORE}/pods?dryRun=All`, pod('sa', { serviceAccountName: 'none' })),
];

const NODE = 'system:node:n1';
const NODES = 'system:nodes';
const nodes: readonly Call[] = [
  as(NODE, post('/api/v1/nodes', named('v1', 'Node', 'other')), NODES),
  as(NODE, get('/api/v1/nodes/other'), NODES),
  as(NODE, get('/api/v1/secrets'), NODES),
  as(NODE, get(`${CORE}/secrets/none`), NODES),
  as(NODE, post(`${CORE}/pods`, pod('np')), NODES),
  as(NODE, get('/api/v1/pods'), NODES),
  as(NODE, remove(`${CORE}/pods/none`), NODES),
];

const ALICE = 'alice';
const role = (name: string, rules: readonly object[]): object =>
  named('rbac.authorization.k8s.io/v1', 'Role', name, { rules });
const roleBinding = (name: string, roleName: string, user: string): object =>
  named('rbac.authorization.k8s.io/v1', 'RoleBinding', name, {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: roleName },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  });
const ROLES = `${RBAC}/namespaces/default/roles`;
const BINDINGS = `${RBAC}/namespaces/default/rolebindings`;
const AUTHORIZATION = '/apis/authorization.k8s.io/v1';
const review = (kind: string, spec: object): object => ({
  apiVersion: 'authorization.k8s.io/v1',
  kind,
  spec,
});

const authorization: readonly Call[] = [
  as(ALICE, get(`${CORE}/pods`)),
  as(ALICE, get(`${CORE}/pods/x`)),
  as(ALICE, get('/api/v1/pods')),
  as(ALICE, get('/api/v1/nodes')),
  as(ALICE, get(`${APPS}/deployments/x/scale`)),
  as(ALICE, post(`${CORE}/pods/x/exec?command=a`, {})),
  as(ALICE, remove(`${CORE}/pods`)),
  as(ALICE, patch(`${CORE}/pods/x`, {})),
  as(ALICE, get(`${CORE}/pods?watch=1`)),
  as(ALICE, get('/metrics')),
  as(ALICE, get('/healthz')),
  { ...as(ALICE, get('/api')), contentDiffers: 'each server has its own address' },
  as(ALICE, get('/none')),
  as(ALICE, get('/apis/none.example.com/v1/things')),
  as('system:anonymous', get('/api/v1/pods')),
  as('system:serviceaccount:default:default', get('/api/v1/pods')),
  as('system:serviceaccount:x', get('/api/v1/pods')),
  { path: '/api/v1/pods', headers: { 'impersonate-group': 'x' } },
  { path: '/api/v1/pods', headers: { 'impersonate-uid': 'x' } },
  { path: '/api/v1/pods', headers: { 'impersonate-extra-a': 'x' } },
  {
    path: '/api/v1/pods',
    headers: { 'impersonate-user': ALICE, 'impersonate-extra-a%2Fb': 'x', 'impersonate-uid': 'u' },
  },
  post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {}),
  as(ALICE, post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {}), 'g1'),
  post('/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: 'wrong' } }),
  post('/apis/authentication.k8s.io/v1/tokenreviews', { spec: {} }),
  post(
    ROLES,
    role('reader', [
      { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
      {
        apiGroups: ['rbac.authorization.k8s.io'],
        resources: ['roles', 'rolebindings'],
        verbs: ['*'],
      },
    ]),
  ),
  post(BINDINGS, roleBinding('reader', 'reader', ALICE)),
  {
    ...as(ALICE, get(`${CORE}/pods`)),
    untilCode: 200,
    contentDiffers: 'each server has its own objects',
  },
  as(
    ALICE,
    post(
      ROLES,
      role('more', [
        { apiGroups: [''], resources: ['pods', 'secrets'], verbs: ['get', 'delete'] },
        { apiGroups: ['apps'], resources: ['deployments'], resourceNames: ['x'], verbs: ['*'] },
      ]),
    ),
  ),
  as(ALICE, post(ROLES, role('same', [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]))),
  as(
    ALICE,
    patch(`${ROLES}/same`, { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] }),
  ),
  post(ROLES, role('strong', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }])),
  as(ALICE, post(BINDINGS, roleBinding('strong', 'strong', ALICE))),
  as(ALICE, post(BINDINGS, roleBinding('none', 'none', ALICE))),
  patch(`${BINDINGS}/reader`, { roleRef: { name: 'other' } }),
  as(
    ALICE,
    post(
      `${AUTHORIZATION}/selfsubjectaccessreviews`,
      review('SelfSubjectAccessReview', {
        resourceAttributes: { namespace: 'default', verb: 'get', resource: 'pods' },
      }),
    ),
  ),
  as(
    ALICE,
    post(
      `${AUTHORIZATION}/selfsubjectaccessreviews`,
      review('SelfSubjectAccessReview', {
        resourceAttributes: { namespace: 'other', verb: 'get', resource: 'pods' },
      }),
    ),
  ),
  as(
    ALICE,
    post(
      `${AUTHORIZATION}/selfsubjectrulesreviews`,
      review('SelfSubjectRulesReview', { namespace: 'default' }),
    ),
  ),
  as(ALICE, post(`${AUTHORIZATION}/selfsubjectrulesreviews`, review('SelfSubjectRulesReview', {}))),
  as(
    ALICE,
    post(
      `${AUTHORIZATION}/subjectaccessreviews`,
      review('SubjectAccessReview', {
        user: 'x',
        nonResourceAttributes: { path: '/', verb: 'get' },
      }),
    ),
  ),
  ...[
    { user: ALICE, resourceAttributes: { namespace: 'default', verb: 'list', resource: 'pods' } },
    {
      user: ALICE,
      resourceAttributes: { namespace: 'default', verb: 'list', resource: 'secrets' },
    },
    { user: ALICE, nonResourceAttributes: { path: '/healthz', verb: 'get' } },
    { groups: ['system:masters'], nonResourceAttributes: { path: '/x', verb: 'y' } },
    { user: ALICE, resourceAttributes: {}, nonResourceAttributes: {} },
    {
      user: ALICE,
      resourceAttributes: {
        verb: 'list',
        resource: 'pods',
        fieldSelector: { rawSelector: 'a=b' },
        labelSelector: { requirements: [{ key: 'a', operator: 'X' }] },
      },
    },
    {
      user: ALICE,
      resourceAttributes: {
        verb: 'list',
        resource: 'pods',
        fieldSelector: {
          rawSelector: 'a=b',
          requirements: [{ key: 'a', operator: 'In', values: ['b'] }],
        },
      },
    },
    {},
  ].map((spec) =>
    post(`${AUTHORIZATION}/subjectaccessreviews`, review('SubjectAccessReview', spec)),
  ),
  post(
    `${AUTHORIZATION}/namespaces/default/localsubjectaccessreviews`,
    review('LocalSubjectAccessReview', {
      user: ALICE,
      resourceAttributes: { namespace: 'default', verb: 'get', resource: 'pods' },
    }),
  ),
  post(
    `${AUTHORIZATION}/namespaces/default/localsubjectaccessreviews`,
    review('LocalSubjectAccessReview', {
      user: ALICE,
      resourceAttributes: { namespace: 'other', verb: 'get', resource: 'pods' },
    }),
  ),
  get(`${AUTHORIZATION}/subjectaccessreviews`),
  remove(`${ROLES}/reader`),
  remove(`${ROLES}/same`),
  remove(`${ROLES}/strong`),
  remove(`${BINDINGS}/reader`),
  remove(`${BINDINGS}/none`),
];

export const admissionCalls: readonly Call[] = [
  ...policies,
  ...quotas,
  ...limits,
  ...security,
  ...classes,
  ...nodes,
  ...authorization,
];
