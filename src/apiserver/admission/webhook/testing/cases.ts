// Test cases: requests, the webhooks that are configured for them, and the webhooks' responses.
// Each case runs against this server and against upstream's, whose results are recorded in
// upstream.jsonl: the clients' responses, and the requests that the webhooks receive.

import {
  allow,
  answer,
  type Behaviour,
  bytes,
  close,
  deny,
  drip,
  half,
  hang,
  patch,
  patchBy,
  raw,
  redirect,
  warn,
} from './behaviours.ts';

export interface CaseRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  /** The content type. Default: application/json. */
  readonly type?: string;
  /** For a request before the webhooks: it is repeated until the response has this status code. */
  readonly until?: number;
}

/** A webhook of a case; runner.ts adds the fields that all webhooks have. */
export interface CaseHook {
  readonly type: 'mutating' | 'validating';
  readonly behaviour: Behaviour;
  /** Fields of the webhook that replace the usual ones. */
  readonly fields?: object;
  /**
   * The client config instead of the webhook server's URL. 'WEBHOOK' stands for its host and port.
   */
  readonly clientConfig?: object;
  /** The name of the webhook's configuration. Hooks with the same name share one. Default: 'a'. */
  readonly configuration?: string;
}

export interface Case {
  readonly name: string;
  readonly hooks: readonly CaseHook[];
  /** Requests before the webhooks are configured. Their responses are not compared. */
  readonly before?: readonly CaseRequest[];
  readonly requests: readonly CaseRequest[];
  /**
   * Requests after the webhooks are deleted, in addition to the deletion of the config map 'm'.
   * Their responses are not compared.
   */
  readonly cleanup?: readonly CaseRequest[];
  /** Only the order of calls is compared, not the bodies that webhooks receive. */
  readonly withoutBodies?: boolean;
  /** The response is not compared, because upstream's varies, or differs on purpose. */
  readonly ownWords?: string;
}

const CORE = '/api/v1/namespaces/default';
const MAPS = `${CORE}/configmaps`;
const JSON_PATCH = 'application/json-patch+json';
const MERGE = 'application/merge-patch+json';
const APPLY = 'application/apply-patch+yaml';

const post = (path: string, body: object): CaseRequest => ({ method: 'POST', path, body });
const put = (path: string, body: object): CaseRequest => ({ method: 'PUT', path, body });
const merge = (path: string, body: object): CaseRequest => ({
  method: 'PATCH',
  path,
  body,
  type: MERGE,
});
const apply = (path: string, body: object): CaseRequest => ({
  method: 'PATCH',
  path,
  body,
  type: APPLY,
});
const remove = (path: string, body?: object): CaseRequest => ({
  method: 'DELETE',
  path,
  ...(body && { body }),
});

const validating = (behaviour: Behaviour, fields: object = {}, more: object = {}): CaseHook => ({
  type: 'validating',
  behaviour,
  fields,
  ...more,
});
const mutating = (behaviour: Behaviour, fields: object = {}, more: object = {}): CaseHook => ({
  type: 'mutating',
  behaviour,
  fields,
  ...more,
});
const both = (behaviour: Behaviour, fields: object = {}): CaseHook[] => [
  mutating(behaviour, fields),
  validating(behaviour, fields),
];

const rule = (resources: string[], more: object = {}): object => ({
  rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources, ...more }],
});

const map = (name: string, data: object = { a: 'b' }, metadata: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});
const createMap = (name = 'm', ...more: [object?, object?]): CaseRequest =>
  post(MAPS, map(name, ...more));
const createMapDry = (name = 'm'): CaseRequest => post(`${MAPS}?dryRun=All`, map(name));
const removeMap = (name = 'm'): CaseRequest => remove(`${MAPS}/${name}`);
const one = (name: string, hook: CaseHook | CaseHook[], ...requests: CaseRequest[]): Case => ({
  name,
  hooks: Array.isArray(hook) ? hook : [hook],
  requests: requests.length === 0 ? [createMapDry()] : requests,
});
const after = (before: CaseRequest[], each: Case, cleanup: CaseRequest[] = []): Case => ({
  ...each,
  before,
  cleanup,
});

const container = { name: 'c', image: 'busybox' };
const pod = (name: string, metadata: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...metadata },
  spec: { containers: [container], terminationGracePeriodSeconds: 0 },
});
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'd' } },
    template: { metadata: { labels: { app: 'd' } }, spec: { containers: [container] } },
  },
};
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const AUTOSCALERS = (version: string): string =>
  `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`;
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' };
const autoscaler = {
  apiVersion: 'autoscaling/v1',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'h' },
  spec: { scaleTargetRef, maxReplicas: 3, targetCPUUtilizationPercentage: 70 },
};
const autoscaler2 = {
  ...autoscaler,
  apiVersion: 'autoscaling/v2',
  spec: { scaleTargetRef, maxReplicas: 3 },
};
const event = {
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: 'e' },
  involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
  reason: 'R',
  message: 'm',
  type: 'Normal',
  source: { component: 'c' },
  firstTimestamp: '2026-01-01T00:00:00Z',
  lastTimestamp: '2026-01-01T00:00:00Z',
  count: 2,
};
const conditions = (...expressions: string[]): object => ({
  matchConditions: expressions.map((expression, index) => ({ name: `c${index}`, expression })),
});
const IGNORE = { failurePolicy: 'Ignore' };

/** Cases about the review that a webhook gets. */
const SEEN: readonly Case[] = [
  one('create', both(allow), createMap(), removeMap()),
  one(
    'create with a generated name',
    both(allow),
    post(`${MAPS}?dryRun=All`, map('', {}, { generateName: 'g-', name: undefined })),
  ),
  one(
    'create with options',
    both(allow),
    post(`${MAPS}?dryRun=All&fieldManager=me&fieldValidation=Strict`, map('m')),
  ),
  after(
    [createMap()],
    one('update', both(allow), put(`${MAPS}/m`, map('m', { a: 'c' })), removeMap()),
  ),
  after(
    [createMap()],
    one(
      'merge patch',
      both(allow),
      merge(`${MAPS}/m?fieldManager=x`, { data: { c: 'd' } }),
      removeMap(),
    ),
  ),
  after(
    [createMap()],
    one(
      'JSON patch',
      both(allow),
      {
        method: 'PATCH',
        path: `${MAPS}/m`,
        type: JSON_PATCH,
        body: [{ op: 'add', path: '/data/x', value: 'y' }],
      },
      removeMap(),
    ),
  ),
  one(
    'apply',
    both(allow),
    apply(`${MAPS}/m?fieldManager=x`, map('m')),
    apply(`${MAPS}/m?fieldManager=x&force=true`, map('m', { a: 'c' })),
    removeMap(),
  ),
  after([createMap()], one('delete', both(allow), remove(`${MAPS}/m?dryRun=All`), removeMap())),
  after(
    [createMap()],
    one(
      'delete with options',
      both(allow),
      remove(`${MAPS}/m`, {
        gracePeriodSeconds: 3,
        propagationPolicy: 'Background',
        dryRun: ['All'],
      }),
      remove(`${MAPS}/m?gracePeriodSeconds=5&propagationPolicy=Foreground&dryRun=All`),
      removeMap(),
    ),
  ),
  after(
    [createMap('m1', {}, { labels: { set: 'x' } }), createMap('m2', {}, { labels: { set: 'x' } })],
    one('deletecollection', both(allow), remove(`${MAPS}?labelSelector=set%3Dx`)),
  ),
  after(
    [createMap()],
    one('an update that changes nothing', both(allow), merge(`${MAPS}/m`, {}), removeMap()),
  ),
  one(
    'an update of what is not there',
    both(allow),
    put(`${MAPS}/none`, map('none')),
    removeMap('none'),
  ),
  one(
    'a pod with its defaults',
    both(allow, rule(['pods'])),
    post(`${CORE}/pods?dryRun=All`, pod('p')),
  ),
  after(
    [post(`${CORE}/pods`, pod('p'))],
    one(
      'subresources of a pod',
      both(allow, rule(['pods/*'])),
      merge(`${CORE}/pods/p/status`, { status: { message: 'x' } }),
      post(`${CORE}/pods/p/eviction?dryRun=All`, {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: 'p' },
      }),
      post(`${CORE}/pods/p/binding`, {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name: 'p' },
        target: { kind: 'Node', name: 'n' },
      }),
    ),
    [remove(`${CORE}/pods/p`)],
  ),
  after(
    [post(DEPLOYMENTS, deployment)],
    one(
      'scale',
      both(allow, rule(['*/scale'])),
      { method: 'GET', path: `${DEPLOYMENTS}/d/scale` },
      merge(`${DEPLOYMENTS}/d/scale`, { spec: { replicas: 5 } }),
      put(`${DEPLOYMENTS}/d/scale`, {
        apiVersion: 'autoscaling/v1',
        kind: 'Scale',
        metadata: { name: 'd', namespace: 'default' },
        spec: { replicas: 1 },
      }),
      remove(`${DEPLOYMENTS}/d`),
    ),
  ),
  one(
    'namespaces',
    both(allow, rule(['namespaces', 'namespaces/*'])),
    post('/api/v1/namespaces?dryRun=All', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'ns2', labels: { a: 'b' } },
    }),
    merge('/api/v1/namespaces/default?dryRun=All', { metadata: { labels: { c: 'd' } } }),
  ),
  one(
    'cluster-scoped objects',
    both(allow, rule(['nodes'])),
    post('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } }),
    remove('/api/v1/nodes/n1'),
  ),
  one(
    'reviews',
    both(
      allow,
      rule([
        'subjectaccessreviews',
        'tokenreviews',
        'selfsubjectreviews',
        'selfsubjectaccessreviews',
      ]),
    ),
    post('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: 'u', resourceAttributes: { verb: 'get', resource: 'pods' } },
    }),
    post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
    }),
  ),
  after(
    [
      post(`${CORE}/serviceaccounts`, {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'sa' },
      }),
    ],
    one(
      'tokens',
      both(allow, rule(['serviceaccounts/token'])),
      post(`${CORE}/serviceaccounts/sa/token`, {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { audiences: ['x'], expirationSeconds: 3600 },
      }),
    ),
    [remove(`${CORE}/serviceaccounts/sa`)],
  ),
  one('review versions', [
    validating(allow, { admissionReviewVersions: ['v9', 'v1'] }),
    validating(allow, { admissionReviewVersions: ['v1beta1', 'v1'] }),
    mutating(
      answer({
        allowed: true,
        patch: Buffer.from('[{"op":"add","path":"/data/x","value":"y"}]').toString('base64'),
      }),
      {
        admissionReviewVersions: ['v1beta1'],
      },
    ),
  ]),
  one('a review of the old version is not looked at closely', [
    validating(raw('{"response":{"allowed":true,"uid":"x","patch":"eA=="}}'), {
      admissionReviewVersions: ['v1beta1'],
    }),
  ]),
];

/** Cases about connections. */
const POD = `${CORE}/pods/c`;
const CONNECTIONS: readonly Case[] = [
  after(
    [post(`${CORE}/pods`, pod('c'))],
    one(
      'connections are denied',
      [
        validating(
          deny({ message: 'no' }),
          rule([
            'pods/exec',
            'pods/attach',
            'pods/portforward',
            'pods/proxy',
            'services/proxy',
            'pods/log',
            'nodes/proxy',
          ]),
        ),
      ],
      { method: 'POST', path: `${POD}/exec?command=ls&command=-l&stdin=true&tty=true&container=c` },
      { method: 'GET', path: `${POD}/attach?stdout=true` },
      { method: 'POST', path: `${POD}/portforward?ports=80` },
      { method: 'GET', path: `${POD}/proxy/a/b?x=y` },
      { method: 'PUT', path: `${POD}:8080/proxy/` },
      { method: 'DELETE', path: `${CORE}/services/s:http/proxy` },
      { method: 'GET', path: `/api/v1/nodes/n/proxy/x` },
      { method: 'GET', path: `${POD}/log` },
      { method: 'POST', path: `${POD}/exec?dryRun=All&command=ls` },
    ),
  ),
  one('connections that are allowed', both(allow, rule(['*/*'])), {
    method: 'POST',
    path: `${POD}/exec?command=ls`,
  }),
  one(
    'what a connection asks for is changed',
    [
      mutating(
        patch([
          { op: 'replace', path: '/command', value: ['id'] },
          { op: 'add', path: '/container', value: 'none' },
        ]),
        rule(['pods/exec']),
      ),
      validating(allow, rule(['pods/exec'])),
    ],
    { method: 'POST', path: `${POD}/exec?command=ls&stdin=true` },
  ),
  one(
    'only some connections',
    [validating(deny(), rule(['pods/exec'], { operations: ['CREATE', 'UPDATE', 'DELETE'] }))],
    {
      method: 'POST',
      path: `${POD}/exec?command=ls`,
    },
  ),
];

/** Cases about which webhooks are called. */
const named = (name: string): Behaviour => warn(name);
const MATCHING: readonly Case[] = [
  one(
    'versions: equivalent and exact',
    [
      validating(named('v1 equivalent'), {
        ...rule(['horizontalpodautoscalers'], { apiVersions: ['v1'] }),
        matchPolicy: 'Equivalent',
      }),
      mutating(named('v1 exact'), {
        ...rule(['horizontalpodautoscalers'], { apiVersions: ['v1'] }),
        matchPolicy: 'Exact',
      }),
      mutating(named('v2 equivalent'), {
        ...rule(['horizontalpodautoscalers'], { apiVersions: ['v2'] }),
        matchPolicy: 'Equivalent',
      }),
      mutating(named('v2 exact'), {
        ...rule(['horizontalpodautoscalers'], { apiVersions: ['v2'] }),
        matchPolicy: 'Exact',
      }),
    ],
    post(`${AUTOSCALERS('v1')}?dryRun=All`, autoscaler),
    post(`${AUTOSCALERS('v2')}?dryRun=All`, autoscaler2),
  ),
  after(
    [post(AUTOSCALERS('v2'), autoscaler2)],
    one(
      'versions: updates and deletions',
      [
        validating(
          allow,
          rule(['horizontalpodautoscalers', 'horizontalpodautoscalers/status'], {
            apiVersions: ['v1'],
          }),
        ),
        mutating(
          patch([{ op: 'add', path: '/spec/maxReplicas', value: 9 }]),
          rule(['horizontalpodautoscalers'], { apiVersions: ['v1'], operations: ['UPDATE'] }),
        ),
      ],
      merge(`${AUTOSCALERS('v2')}/h`, { spec: { minReplicas: 2 } }),
      merge(`${AUTOSCALERS('v2')}/h/status`, { status: { currentReplicas: 2 } }),
      remove(`${AUTOSCALERS('v2')}/h`),
    ),
  ),
  one(
    'groups: events',
    [
      validating(allow, rule(['events'], { apiGroups: ['events.k8s.io'] })),
      mutating(
        patch([{ op: 'add', path: '/note', value: 'changed' }]),
        rule(['events'], { apiGroups: ['events.k8s.io'] }),
      ),
    ],
    post(`${CORE}/events?dryRun=All`, event),
  ),
  one('patterns of resources', [
    mutating(named('*'), rule(['*'])),
    mutating(named('*/*'), rule(['*/*'])),
    mutating(named('configmaps/*'), rule(['configmaps/*'])),
    mutating(named('*/status'), rule(['*/status'])),
    mutating(named('secrets'), rule(['secrets'])),
    mutating(named('group'), rule(['configmaps'], { apiGroups: ['apps', 'x'] })),
    mutating(named('update'), rule(['configmaps'], { operations: ['UPDATE'] })),
    mutating(named('no rules'), { rules: [] }),
  ]),
  one(
    'scopes',
    [
      mutating(named('Namespaced'), rule(['*'], { scope: 'Namespaced' })),
      mutating(named('Cluster'), rule(['*'], { scope: 'Cluster' })),
    ],
    createMapDry(),
    post('/api/v1/namespaces?dryRun=All', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'x' },
    }),
    post('/api/v1/nodes?dryRun=All', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'x' } }),
  ),
  one(
    'namespace selectors',
    [
      mutating(named('default'), {
        ...rule(['*']),
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } },
      }),
      mutating(named('not default'), {
        ...rule(['*']),
        namespaceSelector: {
          matchExpressions: [
            { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['default'] },
          ],
        },
      }),
      mutating(named('labelled'), {
        ...rule(['*']),
        namespaceSelector: { matchLabels: { own: 'yes' } },
      }),
    ],
    createMapDry(),
    post('/api/v1/namespaces/kube-system/configmaps?dryRun=All', map('m')),
    post('/api/v1/namespaces?dryRun=All', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'x', labels: { own: 'yes' } },
    }),
    post('/api/v1/namespaces?dryRun=All', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'x' },
    }),
    post('/api/v1/nodes?dryRun=All', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'x' } }),
    remove('/api/v1/namespaces/default?dryRun=All'),
    post('/api/v1/namespaces/none/configmaps?dryRun=All', map('m')),
  ),
  after(
    [createMap('m', {}, { labels: { old: 'yes' } })],
    one(
      'object selectors',
      [
        mutating(named('old'), { objectSelector: { matchLabels: { old: 'yes' } } }),
        mutating(named('new'), { objectSelector: { matchLabels: { new: 'yes' } } }),
        mutating(named('neither'), { objectSelector: { matchLabels: { neither: 'yes' } } }),
        validating(named('both'), { objectSelector: { matchLabels: { new: 'yes' } } }),
      ],
      merge(`${MAPS}/m`, { metadata: { labels: { old: null, new: 'yes' } } }),
      removeMap(),
    ),
  ),
  one('an object selector sees what webhooks before it have made', [
    mutating(patch([{ op: 'add', path: '/metadata/labels', value: { made: 'yes' } }])),
    mutating(named('made'), { objectSelector: { matchLabels: { made: 'yes' } } }),
  ]),
  one('match conditions', [
    validating(deny(), conditions("object.metadata.name != 'm'")),
    mutating(
      named('true'),
      conditions("object.metadata.name == 'm'", "request.userInfo.username == 'admin'"),
    ),
    mutating(
      named('authorized'),
      conditions(
        "authorizer.group('').resource('pods').namespace('default').check('list').allowed()",
      ),
    ),
    mutating(named('false'), conditions('true', 'false', "object.data.none == 'x'")),
    mutating(named('error, ignored'), { ...conditions("object.data.none == 'x'"), ...IGNORE }),
    mutating(
      named('request'),
      conditions(
        "request.operation == 'CREATE' && request.dryRun && request.resource.resource == 'configmaps'",
      ),
    ),
    mutating(named('old object'), conditions('oldObject == null')),
  ]),
  one(
    'a match condition that fails',
    validating(allow, conditions('true', "object.data.none == 'x'")),
  ),
  one(
    'several match conditions that fail',
    validating(allow, conditions("object.data.none == 'x'", "object.data.other == 'x'")),
  ),
  one(
    'match conditions that cost too much',
    validating(
      allow,
      conditions(
        '[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, ' +
          '[1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, ' +
          '[1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, a+b+c+d+e+f > 0))))))',
      ),
    ),
  ),
  one(
    'configurations of admission are seen by no webhook',
    both(deny(), rule(['*'])),
    post('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?dryRun=All', {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'x' },
    }),
    post('/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations?dryRun=All', {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: { name: 'x' },
    }),
    post('/apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All', {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'x' },
    }),
  ),
];

const rejected = (name: string, ...[status, more]: [object?, object?]): Case =>
  one(`denied: ${name}`, validating(deny(status, more)));

/**
 * Cases about custom resources: in two versions, with a schema that prunes, defaults and checks.
 */
const GROUP = 'hooks.example.com';
const GADGETS = (version: string): string => `/apis/${GROUP}/${version}/namespaces/default/gadgets`;
const schema = {
  openAPIV3Schema: {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: {
          size: { type: 'integer', maximum: 10 },
          color: { type: 'string', default: 'red' },
          parts: { type: 'array', items: { type: 'string' } },
        },
      },
      status: {
        type: 'object',
        properties: { ready: { type: 'boolean' }, count: { type: 'integer' } },
      },
    },
  },
};
const definition = (version: string, storage: boolean): object => ({
  name: version,
  served: true,
  storage,
  schema,
  subresources: {
    status: {},
    scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.count' },
  },
});
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const gadgets = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `gadgets.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { plural: 'gadgets', kind: 'Gadget' },
    versions: [definition('v1', true), definition('v2', false)],
  },
};
const gadget = (version: string, spec: object = { size: 1 }, metadata: object = {}): object => ({
  apiVersion: `${GROUP}/${version}`,
  kind: 'Gadget',
  metadata: { name: 'g', ...metadata },
  spec,
});
const GADGET_RULE = (version: string, more: object = {}): object => ({
  rules: [
    {
      operations: ['*'],
      apiGroups: [GROUP],
      apiVersions: [version],
      resources: ['gadgets', 'gadgets/*'],
    },
  ],
  ...more,
});
const defined: CaseRequest[] = [
  post(DEFINITIONS, gadgets),
  { method: 'GET', path: GADGETS('v1'), until: 200 },
  { method: 'GET', path: GADGETS('v2'), until: 200 },
  post(GADGETS('v1'), gadget('v1')),
];
const custom = (name: string, hooks: CaseHook[], ...requests: CaseRequest[]): Case =>
  after(defined, one(`custom resources: ${name}`, hooks, ...requests), [
    remove(`${GADGETS('v1')}/g`),
    remove(`${GADGETS('v1')}/new`),
  ]);
const postGadget = (version: string, spec?: object): CaseRequest =>
  post(`${GADGETS(version)}?dryRun=All`, gadget(version, spec, { name: 'new' }));
const patchGadget = (name: string, operations: unknown, ...requests: CaseRequest[]): Case =>
  custom(
    `patch: ${name}`,
    [mutating(patch(operations), GADGET_RULE('*')), validating(allow, GADGET_RULE('*'))],
    ...requests,
  );

/**
 * Upstream drops fields that the schema does not have only after validating webhooks, and drops
 * invalid labels silently.
 */
const DROPPED =
  'what a webhook adds and the schema does not have is dropped at once, and wrong types are errors';

const CUSTOM: readonly Case[] = [
  custom(
    'what is seen',
    both(allow, GADGET_RULE('*')),
    post(GADGETS('v1'), gadget('v1', { size: 2, unknown: 'x' }, { name: 'new' })),
    merge(`${GADGETS('v1')}/g`, { spec: { size: 3 } }),
    put(`${GADGETS('v1')}/new`, gadget('v1', { size: 4 }, { name: 'new' })),
    apply(`${GADGETS('v2')}/g?fieldManager=f&force=true`, gadget('v2', { size: 5 })),
    merge(`${GADGETS('v1')}/g/status`, { status: { ready: true } }),
    merge(`${GADGETS('v1')}/g/scale`, { spec: { replicas: 6 } }),
    remove(`${GADGETS('v2')}/g`),
    remove(GADGETS('v1')),
  ),
  custom(
    'another version',
    [
      mutating(patch([{ op: 'add', path: '/spec/parts', value: ['p'] }]), GADGET_RULE('v1')),
      mutating(patch([{ op: 'add', path: '/spec/parts/-', value: 'q' }]), GADGET_RULE('v2')),
      validating(allow, GADGET_RULE('v1')),
      validating(deny({ message: 'exact' }), GADGET_RULE('v1', { matchPolicy: 'Exact' })),
    ],
    postGadget('v2'),
    postGadget('v1'),
    merge(`${GADGETS('v2')}/g?dryRun=All`, { spec: { size: 3 } }),
    merge(`${GADGETS('v2')}/g/status?dryRun=All`, { status: { ready: true } }),
  ),
  custom(
    'denied',
    both(deny({ message: 'no' }), GADGET_RULE('*')),
    postGadget('v1'),
    remove(`${GADGETS('v1')}/g`),
    remove(GADGETS('v2')),
  ),
  custom(
    'match conditions',
    [
      mutating(warn('size'), GADGET_RULE('*', conditions('object.spec.size > 1'))),
      mutating(warn('color'), GADGET_RULE('*', conditions("object.spec.color == 'red'"))),
      mutating(
        warn('kind'),
        GADGET_RULE(
          'v2',
          conditions("object.apiVersion.endsWith('v2') && request.requestKind.version == 'v1'"),
        ),
      ),
    ],
    postGadget('v1', { size: 2 }),
    postGadget('v1'),
  ),
  {
    ...patchGadget(
      'unknown fields',
      [
        { op: 'add', path: '/spec/unknown', value: 'x' },
        { op: 'add', path: '/other', value: 1 },
      ],
      postGadget('v1'),
    ),
    ownWords: DROPPED,
  },
  patchGadget('no spec', [{ op: 'remove', path: '/spec' }], postGadget('v1')),
  patchGadget('an empty spec', [{ op: 'replace', path: '/spec', value: {} }], postGadget('v1')),
  patchGadget(
    'a value that is not allowed',
    [{ op: 'replace', path: '/spec/size', value: 11 }],
    postGadget('v1'),
  ),
  patchGadget(
    'a wrong type',
    [{ op: 'replace', path: '/spec/size', value: 'x' }],
    postGadget('v1'),
  ),
  patchGadget(
    'a list in place of the spec',
    [{ op: 'replace', path: '/spec', value: [] }],
    postGadget('v1'),
  ),
  {
    ...patchGadget(
      'wrong metadata',
      [{ op: 'add', path: '/metadata/labels', value: { a: 1 } }],
      postGadget('v1'),
    ),
    ownWords: DROPPED,
  },
  {
    ...patchGadget(
      'metadata',
      [
        { op: 'add', path: '/metadata/labels', value: { a: 'b' } },
        { op: 'add', path: '/metadata/unknown', value: 'x' },
      ],
      postGadget('v1'),
    ),
    ownWords: DROPPED,
  },
  patchGadget('no change', [{ op: 'replace', path: '/spec/size', value: 1 }], postGadget('v1')),
  patchGadget(
    'status of an update',
    [{ op: 'add', path: '/status', value: { ready: true } }],
    merge(`${GADGETS('v1')}/g?dryRun=All`, { spec: { size: 3 } }),
  ),
  patchGadget(
    'spec of a status',
    [{ op: 'replace', path: '/spec/size', value: 9 }],
    merge(`${GADGETS('v1')}/g/status?dryRun=All`, { status: { ready: true } }),
  ),
  patchGadget(
    'of a scale',
    [{ op: 'replace', path: '/spec/replicas', value: 9 }],
    merge(`${GADGETS('v1')}/g/scale?dryRun=All`, { spec: { replicas: 2 } }),
  ),
  one(
    'custom resources: definitions',
    both(deny({ message: 'no definitions' }), rule(['customresourcedefinitions'])),
    post(`${DEFINITIONS}?dryRun=All`, {
      ...gadgets,
      metadata: { name: 'things.hooks.example.com' },
      spec: { ...gadgets.spec, names: { plural: 'things', kind: 'Thing' } },
    }),
  ),
];

/** Cases about webhooks that allow or reject. */
const VERDICTS: readonly Case[] = [
  rejected('without explanation'),
  rejected('with a message', { message: 'no way' }),
  rejected('with a reason', { reason: 'Forbidden' }),
  rejected('with a code below 400', { code: 200, message: 'x', status: 'Success' }),
  rejected('with a code', { code: 418, reason: 'Teapot', message: 'x' }),
  rejected('with a server error', { code: 503, message: 'x' }),
  rejected('with details', {
    code: 422,
    status: 'Failure',
    reason: 'Invalid',
    message: 'x',
    details: {
      name: 'n',
      group: 'g',
      kind: 'k',
      uid: 'u',
      retryAfterSeconds: 7,
      causes: [{ reason: 'FieldValueInvalid', message: 'm', field: 'data.a' }],
    },
  }),
  rejected('with an own status', {
    status: 'custom',
    message: 'x',
    metadata: { resourceVersion: '7' },
  }),
  rejected(
    'with audit annotations and warnings',
    { message: 'x' },
    { auditAnnotations: { a: 'b' }, warnings: ['w'] },
  ),
  one('denied: by a mutating webhook', mutating(deny({ message: 'no' }))),
  one(
    'denied: a patch does not matter',
    mutating(deny({ message: 'no' }, { patch: 'bm9uZQ==', patchType: 'JSONPatch' })),
  ),
  one('denied: Ignore is for failures only', validating(deny({ message: 'no' }), IGNORE)),
  one('denied: by one of several', [
    validating(allow),
    validating(deny({ message: 'no' })),
    validating(allow),
  ]),
  one('denied: the first mutating webhook that denies ends it', [
    mutating(deny({ message: 'no' })),
    mutating(allow),
    validating(allow),
  ]),
  after(
    [createMap()],
    one(
      'denied: deletions',
      both(deny({ message: 'kept' })),
      removeMap(),
      remove(`${MAPS}?fieldSelector=metadata.name%3Dm`),
    ),
  ),
  one('warnings', [
    mutating(warn('one', 'two', 'one', '')),
    validating(warn('two', 'three "quoted" \\ back', 'tab\tand\nnewline', 'Größe')),
  ]),
  one(
    'long warnings',
    validating(
      warn(
        'x'.repeat(3000),
        `y${'z'.repeat(2000)}`,
        'short',
        ...Array.from({ length: 30 }, (_, i) => `${i}-${'w'.repeat(300)}`),
      ),
    ),
  ),
  one(
    'warnings of a denied request',
    validating(deny({ message: 'no' }, { warnings: ['careful'] })),
  ),
  one(
    'status of an allowed request',
    validating(answer({ allowed: true, status: { code: 500, message: 'x' } })),
  ),
];

const changed = (name: string, operations: unknown, ...requests: CaseRequest[]): Case =>
  one(`patch: ${name}`, [mutating(patch(operations)), validating(allow)], ...requests);
const add = (path: string, value: unknown): object => ({ op: 'add', path, value });
const again = (key: string): Behaviour =>
  patchBy(({ request }) => [
    add(
      `/data/${key}`,
      `${request.object?.data?.[key] ?? ''}${Object.keys(request.object?.data ?? {}).join('')}`,
    ),
  ]);

/** Cases about patches. */
const PATCHES: readonly Case[] = [
  changed('add', [add('/data/x', 'y'), add('/metadata/labels', { a: 'b' })]),
  changed(
    'defaults follow',
    [add('/spec/containers/-', { name: 'd', image: 'i' })],
    post(`${CORE}/pods?dryRun=All`, pod('p')),
  ),
  one(
    'patch: pods get defaults',
    mutating(
      patch([add('/spec/containers/-', { name: 'd', image: 'i', ports: [{ containerPort: 80 }] })]),
      rule(['pods']),
    ),
    post(`${CORE}/pods?dryRun=All`, pod('p')),
  ),
  one(
    'patch: an invalid pod',
    mutating(patch([{ op: 'remove', path: '/spec/containers/0/name' }]), rule(['pods'])),
    post(`${CORE}/pods?dryRun=All`, pod('p')),
  ),
  changed('nothing', []),
  changed('null', null),
  changed('no change', [{ op: 'replace', path: '/data/a', value: 'b' }]),
  changed('a test that fails', [{ op: 'test', path: '/data/a', value: 'c' }]),
  changed('a path that is not there', [{ op: 'remove', path: '/data/none' }]),
  changed('replace of what is not there', [{ op: 'replace', path: '/data/none', value: 'x' }]),
  changed('add below what is not there', [add('/metadata/annotations/x', 'y')]),
  changed('an operation that is none', [{ op: 'change', path: '/data/a' }]),
  changed('no path', [{ op: 'add', value: 'x' }]),
  changed('no value', [{ op: 'add', path: '/data/x' }]),
  changed('an object', { op: 'add', path: '/data/x', value: 'y' }),
  changed('a list of texts', ['x']),
  changed('no JSON', 'garbage'),
  changed('the whole object', [
    {
      op: 'replace',
      path: '',
      value: { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'm' } },
    },
  ]),
  changed('the whole object is a text', [{ op: 'replace', path: '', value: 'x' }]),
  changed('a wrong type', [add('/data', 'text')]),
  changed('a wrong type inside', [add('/data/x', 7)]),
  changed('an unknown field', [add('/unknown', 'x'), add('/metadata/unknown', 'x')]),
  changed('another kind', [{ op: 'replace', path: '/kind', value: 'Secret' }]),
  changed('an unknown kind', [{ op: 'replace', path: '/kind', value: 'Nothing' }]),
  changed('another version', [{ op: 'replace', path: '/apiVersion', value: 'v2' }]),
  changed('another name', [{ op: 'replace', path: '/metadata/name', value: 'other' }]),
  changed('another namespace', [
    { op: 'replace', path: '/metadata/namespace', value: 'kube-system' },
  ]),
  changed('an invalid name', [{ op: 'replace', path: '/metadata/name', value: '-' }]),
  changed('no metadata', [{ op: 'remove', path: '/metadata' }]),
  changed('a uid and a time', [
    add('/metadata/uid', 'x'),
    add('/metadata/creationTimestamp', '2020-01-01T00:00:00Z'),
  ]),
  changed('managed fields', [
    add('/metadata/managedFields', [
      { manager: 'x', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {} },
    ]),
  ]),
  changed('invalid managed fields', [
    add('/metadata/managedFields', [
      { manager: 'x', operation: 'None', apiVersion: 'v1', fieldsType: 'X' },
    ]),
  ]),
  changed('no managed fields', [{ op: 'remove', path: '/metadata/managedFields' }]),
  changed('owners twice', [
    add('/metadata/ownerReferences', [
      { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' },
      { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' },
    ]),
  ]),
  after(
    [createMap()],
    changed(
      'of an update',
      [add('/data/x', 'y'), add('/metadata/labels', { l: 'm' })],
      merge(`${MAPS}/m`, { data: { c: 'd' } }),
      removeMap(),
    ),
  ),
  after(
    [createMap()],
    one(
      'patch: the name of an update',
      mutating(patch([{ op: 'replace', path: '/metadata/name', value: 'other' }])),
      merge(`${MAPS}/m`, { data: { c: 'd' } }),
    ),
  ),
  after(
    [createMap()],
    one('patch: of a deletion', mutating(patch([add('/data/x', 'y')])), removeMap()),
  ),
  after(
    [createMap()],
    one(
      'patch: of a deletion, ignored',
      mutating(patch([add('/data/x', 'y')]), IGNORE),
      removeMap(),
    ),
  ),
  after(
    [removeMap()],
    one(
      'patch: of an apply',
      mutating(patch([add('/data/x', 'y')])),
      apply(`${MAPS}/m?fieldManager=f`, map('m')),
    ),
  ),
  after(
    [removeMap()],
    one('patch: several webhooks', [
      mutating(patch([add('/data/x', '1')])),
      mutating(patch([{ op: 'test', path: '/data/x', value: '1' }, add('/data/y', '2')])),
    ]),
  ),
  one('patch: without a type', mutating(answer({ allowed: true, patch: 'W10=' }))),
  one('patch: a type without a patch', mutating(answer({ allowed: true, patchType: 'JSONPatch' }))),
  one('patch: an empty type', mutating(answer({ allowed: true, patch: 'W10=', patchType: '' }))),
  one('patch: another type', mutating(patch([add('/data/x', 'y')], { patchType: 'MergePatch' }))),
  one(
    'patch: no base64',
    mutating(answer({ allowed: true, patch: '!!!', patchType: 'JSONPatch' })),
  ),
  one('patch: of a validating webhook', validating(patch([]))),
  one(
    'patch: the type of a validating webhook',
    validating(answer({ allowed: true, patchType: 'JSONPatch' })),
  ),
  one('patch: ignored where it is undecodable', mutating(patch('garbage'), IGNORE)),
  one(
    'patch: not ignored where it cannot be applied',
    mutating(patch([{ op: 'remove', path: '/data/none' }]), IGNORE),
  ),
  one('reinvocation: if needed', [
    mutating(again('p'), { reinvocationPolicy: 'IfNeeded' }),
    mutating(again('q')),
  ]),
  one('reinvocation: never', [mutating(again('p')), mutating(again('q'))]),
  one('reinvocation: of both', [
    mutating(again('p'), { reinvocationPolicy: 'IfNeeded' }),
    mutating(again('q'), { reinvocationPolicy: 'IfNeeded' }),
  ]),
  one('reinvocation: nothing changes', [
    mutating(allow, { reinvocationPolicy: 'IfNeeded' }),
    mutating(patch([add('/data/a', 'b')])),
  ]),
  one('order of configurations', [
    mutating(again('third'), {}, { configuration: 'c' }),
    mutating(again('first'), {}, { configuration: 'a' }),
    mutating(again('second'), {}, { configuration: 'b' }),
    mutating(again('fourth'), {}, { configuration: 'c' }),
  ]),
];

const fails = (
  name: string,
  behaviour: Behaviour,
  fields: object = {},
  more: Partial<CaseHook> = {},
): Case[] => [
  one(`failure: ${name}`, validating(behaviour, fields, more)),
  one(`failure, ignored: ${name}`, [
    mutating(behaviour, { ...IGNORE, ...fields }, more),
    validating(allow),
  ]),
];
const service = (name: string, more: object = {}): Partial<CaseHook> => ({
  clientConfig: { service: { namespace: 'default', name, path: '/x', ...more } },
});
const SLOW = { timeoutSeconds: 1 };
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const block = (type: string): string =>
  `-----BEGIN ${type}-----\n${base64('nothing')}\n-----END ${type}-----\n`;
const KEY = block('PUBLIC KEY');
const BROKEN = block('CERTIFICATE');

/** Cases about failures. */
const FAILURES: readonly Case[] = [
  ...fails('another uid', answer({ allowed: true, uid: 'other' })),
  ...fails('no uid', answer({ allowed: true, uid: undefined })),
  ...fails('no response', answer({}, { response: undefined })),
  ...fails('no kind', answer({ allowed: true }, { kind: undefined, apiVersion: undefined })),
  ...fails('another kind', answer({ allowed: true }, { kind: 'Review' })),
  ...fails(
    'another version',
    answer({ allowed: true }, { apiVersion: 'admission.k8s.io/v1beta1' }),
  ),
  ...fails('an unknown version', answer({ allowed: true }, { apiVersion: 'admission.k8s.io/v2' })),
  ...fails('another group', answer({ allowed: true }, { apiVersion: 'v1' })),
  ...fails('a bad version', answer({ allowed: true }, { apiVersion: 'a/b/c' })),
  ...fails('wrong types', answer({ allowed: 'yes' })),
  ...fails('wrong types inside', answer({ allowed: true, warnings: { a: 'b' } })),
  ...fails('nothing', raw('')),
  ...fails('nothing, without a type', raw('', 200, undefined)),
  ...fails('a text', raw('garbage', 200, 'text/plain')),
  ...fails('HTML', raw('<html></html>', 200, 'text/html')),
  ...fails('a list', raw('[]')),
  ...fails('a number', raw('7')),
  ...fails('null', raw('null')),
  ...fails('half a JSON', raw('{"kind":')),
  ...fails('two JSON', raw('{}{}')),
  ...fails('an empty object', raw('{}')),
  ...fails(
    'a Status',
    raw('{"kind":"Status","apiVersion":"v1","status":"Failure","message":"x","code":404}'),
  ),
  ...fails('a bad content type', raw('{}', 200, 'json;;')),
  ...fails('status 500', raw('broken\n', 500, 'text/plain')),
  ...fails('status 500 without a type', raw('broken', 500, undefined)),
  ...fails('status 500 with JSON', raw('{"a":1}', 500)),
  ...fails(
    'status 500 with a Status',
    raw(
      '{"kind":"Status","apiVersion":"v1","status":"Failure","message":"own words","reason":"X","code":507}',
      500,
    ),
  ),
  ...fails('status 404', raw('x', 404, 'text/plain')),
  ...fails('status 403', raw('forbidden by me', 403, 'text/plain')),
  ...fails('status 400', raw('x', 400, 'text/plain')),
  ...fails('status 418', raw('x', 418, 'text/plain')),
  ...fails('status 409', raw('x', 409, 'text/plain')),
  ...fails('status 204', raw('', 204)),
  ...fails('status 301 without a place', raw('', 301, 'text/plain')),
  ...fails('status 304', raw('', 304, undefined)),
  ...fails('a redirect with GET', redirect(302, 'none')),
  ...fails('a redirect to itself', redirect(307, '?again')),
  ...fails('a redirect to nowhere', redirect(307, 'https://127.0.0.1:1/x')),
  ...fails('a redirect to a bad place', redirect(307, 'https://[::1')),
  ...fails('a closed connection', close),
  ...fails('half a response', half),
  ...fails('no HTTP', bytes('garbage\r\n\r\n')),
  ...fails('a hanging webhook', hang, SLOW),
  ...fails('a slow response', drip, SLOW),
  ...fails('no server', allow, {}, { clientConfig: { url: 'https://127.0.0.1:1/x' } }),
  ...fails(
    'another name',
    allow,
    {},
    { clientConfig: { url: 'https://127.0.0.2:PORT/x', caBundle: 'CA' } },
  ),
  ...fails(
    'no certificates',
    allow,
    {},
    { clientConfig: { url: 'https://127.0.0.1:PORT/x', caBundle: base64('garbage') } },
  ),
  ...fails(
    'a key in place of certificates',
    allow,
    {},
    { clientConfig: { url: 'https://127.0.0.1:PORT/x', caBundle: base64(KEY) } },
  ),
  ...fails(
    'a broken certificate',
    allow,
    {},
    { clientConfig: { url: 'https://127.0.0.1:PORT/x', caBundle: base64(BROKEN) } },
  ),
  ...fails('no such service', allow, {}, service('none')),
  ...fails('no such port', allow, {}, service('external-none', { port: 7 })),
  {
    name: 'a service',
    before: [
      post(`${CORE}/services`, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'hook' },
        spec: { type: 'ExternalName', externalName: 'localhost' },
      }),
    ],
    hooks: [
      validating(
        warn('called'),
        {},
        {
          clientConfig: {
            service: { namespace: 'default', name: 'hook', path: 'PATH', port: 'PORT' },
            caBundle: 'CA',
          },
        },
      ),
    ],
    requests: [createMapDry()],
  },
  {
    name: 'a service with another certificate',
    before: [
      post(`${CORE}/services`, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'wrong' },
        spec: { type: 'ExternalName', externalName: 'localhost' },
      }),
    ],
    hooks: [
      validating(
        allow,
        {},
        {
          clientConfig: {
            service: { namespace: 'default', name: 'wrong', path: '/x', port: 'PORT' },
            caBundle: 'CA',
          },
        },
      ),
    ],
    requests: [createMapDry()],
  },
  {
    name: 'a service without such a port',
    before: [
      post(`${CORE}/services`, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'ports' },
        spec: { ports: [{ port: 80 }] },
      }),
    ],
    hooks: [
      validating(
        allow,
        {},
        { clientConfig: { service: { namespace: 'default', name: 'ports', path: '/x' } } },
      ),
    ],
    requests: [createMapDry()],
  },
  {
    ...one(
      'the time of the request',
      validating(hang),
      post(`${MAPS}?dryRun=All&timeout=1s`, map('m')),
    ),
    ownWords: 'upstream answers, or closes the connection, whatever comes first',
  },
  one('other webhooks are not held up', [
    validating(hang, { ...SLOW, ...IGNORE }),
    validating(deny({ message: 'no' })),
  ]),
  one('a patch of a webhook that fails is not applied', [
    mutating(half, IGNORE),
    mutating(patch([add('/data/x', 'y')])),
  ]),
];

const withoutBodies = (cases: readonly Case[]): Case[] =>
  cases.map((each) => ({ ...each, withoutBodies: true }));

export const CASES: readonly Case[] = [
  ...SEEN,
  ...CONNECTIONS,
  ...MATCHING,
  ...CUSTOM,
  ...withoutBodies(VERDICTS),
  ...PATCHES,
  ...withoutBodies(FAILURES),
];
