// Admission policies in CEL: parameters, variables, conditions, messages, what expressions see,
// mutations, and what the status says of wrong expressions.

import {
  as,
  type Call,
  configMap,
  deployment,
  get,
  JSON_PATCH,
  patch,
  post,
  put,
  remove,
} from './call.ts';

const REGISTRATION = '/apis/admissionregistration.k8s.io/v1';
const VERSION = 'admissionregistration.k8s.io/v1';
const VALIDATING = `${REGISTRATION}/validatingadmissionpolicies`;
const VALIDATING_BINDINGS = `${REGISTRATION}/validatingadmissionpolicybindings`;
const MUTATING = `${REGISTRATION}/mutatingadmissionpolicies`;
const MUTATING_BINDINGS = `${REGISTRATION}/mutatingadmissionpolicybindings`;
const NAMESPACE = '/api/v1/namespaces/pol';
const APPS = '/apis/apps/v1/namespaces/pol';
const NAME = 'pol.example.com';
const CONFIG_MAPS = {
  apiGroups: [''],
  apiVersions: ['v1'],
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  resources: ['configmaps'],
};

const object = (kind: string, spec: object): object => ({
  apiVersion: VERSION,
  kind,
  metadata: { name: NAME },
  spec,
});
const constraints = (...rules: readonly object[]): object => ({
  namespaceSelector: { matchLabels: { policies: 'here' } },
  resourceRules: rules.length === 0 ? [CONFIG_MAPS] : rules,
});
const validating = (spec: object): Call =>
  post(
    VALIDATING,
    object('ValidatingAdmissionPolicy', { matchConstraints: constraints(), ...spec }),
  );
const mutating = (spec: object): Call =>
  post(
    MUTATING,
    object('MutatingAdmissionPolicy', {
      matchConstraints: constraints({ ...CONFIG_MAPS, operations: ['CREATE', 'UPDATE'] }),
      reinvocationPolicy: 'Never',
      ...spec,
    }),
  );
const binding = (spec: object = {}): Call =>
  post(
    VALIDATING_BINDINGS,
    object('ValidatingAdmissionPolicyBinding', {
      policyName: NAME,
      validationActions: ['Deny'],
      ...spec,
    }),
  );
const mutatingBinding = (spec: object = {}): Call =>
  post(MUTATING_BINDINGS, object('MutatingAdmissionPolicyBinding', { policyName: NAME, ...spec }));
const data = (name: string, values: Readonly<Record<string, string>>, more: object = {}): object =>
  configMap(name, { data: values, metadata: { name, ...more } });
const create = (name: string, values: Readonly<Record<string, string>> = {}, more = {}): Call =>
  post(`${NAMESPACE}/configmaps?dryRun=All`, data(name, values, more));

/** A policy takes effect a moment later: one whose name is `ready` is asked until then. */
const isReady = { expression: 'object == null || object.metadata.name != "ready"' };
const READY = create('ready', { a: '1' });
const untilReady = (): Call => ({ ...READY, untilCode: 'error' });
/** Until no policy is in effect any more. */
const untilGone: Call = { ...READY, untilCode: 201, untilUnwarned: true };
const removeAll: readonly Call[] = [
  remove(`${VALIDATING_BINDINGS}/${NAME}`),
  remove(`${VALIDATING}/${NAME}`),
  untilGone,
];

/** Each expression is a validation of its own policy, tried with the calls. */
const validated = (
  validation: object,
  calls: readonly Call[],
  more: object = {},
): readonly Call[] => [
  validating({ validations: [isReady, validation], ...more }),
  binding(),
  untilReady(),
  ...calls,
  ...removeAll,
];

/** The message is the value of the expression. */
const shown = (expression: string, more: object = {}): readonly Call[] =>
  validated(
    { expression: 'false', messageExpression: `string(${expression})` },
    [create('x', { a: '1', b: 'two' }, { labels: { l: 'v' } })],
    more,
  );

const EXPRESSIONS = [
  'request.kind.kind + request.kind.version + request.kind.group',
  'request.resource.resource + request.requestResource.resource',
  'request.operation + request.name + request.namespace',
  'request.userInfo.username',
  'request.userInfo.groups.join(",")',
  'request.dryRun',
  'has(request.options) ? string(request.options.kind) : "none"',
  'namespaceObject.metadata.name + namespaceObject.metadata.labels["policies"]',
  'oldObject == null',
  'object.metadata.labels.l',
  'object.data.all(k, object.data[k] != "")',
  'object.metadata.name.matches("^e[0-9]+$") ? object.data.b.upperAscii() : "none"',
  'quantity("1Gi").compareTo(quantity("500Mi"))',
  'ip("10.0.0.1").family()',
  'cidr("10.0.0.0/8").containsIP("10.1.2.3")',
  'url("https://example.com:8080/a?b=c").getHost()',
  'semver("1.2.3").minor()',
  'format.dns1123Label().validate("A").value()[0]',
  'object.data.transformMap(k, v, v + "!")["a"]',
  'optional.of(object.data.?none.orValue("absent")).value()',
  'object.?data["a"].orValue("x")',
  'sets.contains(["a", "b"], ["a"])',
  '[1, 2, 3].sum()',
  '"%s-%d-%.2f".format(["a", 3, 2.5])',
  '"a,b,c".split(",").size()',
  'duration("90m").getHours()',
  'timestamp("2026-01-02T03:04:05Z").getFullYear()',
  'object.data.none',
  '1 / 0',
  'object.data["a"] + 1',
] as const;

/** One policy shows the value of each expression, by the name of the object. */
const expressions: readonly Call[] = [
  validating({
    validations: [
      isReady,
      ...EXPRESSIONS.map((expression, index) => ({
        expression: `object == null || object.metadata.name != "e${index}"`,
        messageExpression: `string(${expression})`,
      })),
    ],
  }),
  get(`${VALIDATING}/${NAME}`),
  binding(),
  untilReady(),
  ...EXPRESSIONS.map((_, index) =>
    create(`e${index}`, { a: '1', b: 'two' }, { labels: { l: 'v' } }),
  ),
  ...removeAll,
];

const VARIABLES = [
  { name: 'keys', expression: 'object.data.map(k, k)' },
  { name: 'count', expression: 'size(variables.keys)' },
  { name: 'unused', expression: '1 / 0' },
];
const outcomes: readonly Call[] = [
  ...shown('variables.count', { variables: VARIABLES }),
  ...validated({ expression: 'false', reason: 'Forbidden' }, [create('x')]),
  ...validated({ expression: 'false', reason: 'RequestEntityTooLarge', message: 'no' }, [
    create('x'),
  ]),
  ...validated({ expression: 'false', message: 'm', messageExpression: '1 / 0 == 0 ? "" : "x"' }, [
    create('x'),
  ]),
  ...validated({ expression: 'false', message: 'm', messageExpression: '""' }, [create('x')]),
  ...validated({ expression: '!authorizer.requestResource.check("create").allowed()' }, [
    create('x'),
  ]),
  ...validated({ expression: 'false', messageExpression: '"a\\nb"' }, [create('x')]),
  ...validated({ expression: '1 / 0 == 1' }, [create('x')], { failurePolicy: 'Fail' }),
  ...validated({ expression: 'object.data.none == "1"' }, [create('x')], {
    matchConditions: [
      { name: 'a', expression: 'object.metadata.name != "y"' },
      { name: 'b', expression: 'has(object.data)' },
    ],
  }),
  ...validated({ expression: 'true' }, [create('x'), create('y')], {
    matchConditions: [
      { name: 'fails', expression: 'object.metadata.name == "ready" || object.data.none == "x"' },
    ],
  }),
  ...validated({ expression: 'object.metadata.name == "y"' }, [create('x'), create('y')], {
    matchConditions: [{ name: 'a', expression: 'request.userInfo.username != "bob"' }],
  }),
  // A rule by name does not concern what is created.
  ...validated({ expression: 'false' }, [create('x'), create('named')], {
    matchConstraints: {
      ...constraints(),
      excludeResourceRules: [{ ...CONFIG_MAPS, resourceNames: ['named'] }],
      objectSelector: { matchExpressions: [{ key: 'skip', operator: 'DoesNotExist' }] },
    },
  }),
];

const ACTIONS = [['Warn'], ['Audit'], ['Warn', 'Audit'], ['Deny', 'Audit']];
const actions: readonly Call[] = ACTIONS.flatMap((validationActions) => [
  validating({
    validations: [{ expression: 'object.metadata.name == "y"', message: 'only y' }],
    auditAnnotations: [{ key: 'k', valueExpression: '"v"' }],
  }),
  binding({ validationActions }),
  // A warning has no code of its own to wait for.
  get(`${VALIDATING_BINDINGS}/${NAME}`),
  ...(validationActions.includes('Deny') ? [{ ...create('x'), untilCode: 422 }, create('y')] : []),
  ...removeAll,
]);

const params = (name: string, values: Readonly<Record<string, string>>): object =>
  data(name, values, { labels: { params: 'yes' } });
const withParams = (paramRef: object, calls: readonly Call[]): readonly Call[] => [
  validating({
    paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
    matchConstraints: constraints({
      apiGroups: ['apps'],
      apiVersions: ['v1'],
      operations: ['CREATE'],
      resources: ['deployments'],
    }),
    validations: [
      {
        expression: 'object.spec.replicas <= int(params.data.max)',
        messageExpression: '"at most " + params.data.max + " of " + params.metadata.name',
      },
      { expression: 'object.metadata.name != "ready"' },
    ],
  }),
  binding({ paramRef }),
  {
    ...post(`${APPS}/deployments?dryRun=All`, deployment('ready', { replicas: 99 })),
    untilCode: 'error',
  },
  ...calls,
  remove(`${VALIDATING_BINDINGS}/${NAME}`),
  remove(`${VALIDATING}/${NAME}`),
  {
    ...post(`${APPS}/deployments?dryRun=All`, deployment('ready', { replicas: 99 })),
    untilCode: 201,
  },
];
const replicas = (count: number): Call =>
  post(`${APPS}/deployments?dryRun=All`, deployment('d', { replicas: count }));
const parameters: readonly Call[] = [
  post(`${NAMESPACE}/configmaps`, params('p1', { max: '3' })),
  post(`${NAMESPACE}/configmaps`, params('p2', { max: '5' })),
  ...withParams({ name: 'p1', namespace: 'pol', parameterNotFoundAction: 'Deny' }, [
    replicas(3),
    replicas(4),
  ]),
  ...withParams({ name: 'p1', parameterNotFoundAction: 'Deny' }, [replicas(2), replicas(9)]),
  ...withParams({ selector: { matchLabels: { params: 'yes' } }, parameterNotFoundAction: 'Deny' }, [
    replicas(2),
    replicas(4),
  ]),
  ...withParams({ name: 'none', parameterNotFoundAction: 'Deny' }, [replicas(2)]),
  ...withParams({ selector: { matchLabels: { none: 'x' } }, parameterNotFoundAction: 'Deny' }, [
    replicas(2),
  ]),
  remove(`${NAMESPACE}/configmaps/p1`),
  remove(`${NAMESPACE}/configmaps/p2`),
];

/** Expressions that do not compile, or only for some types: the status tells of the latter. */
const WRONG = [
  'object.data.size() > 0 && nothing',
  'object.spec.replicas > 0',
  'params.x == 1',
  'variables.none',
  'object.metadata.name.none()',
  'size(object.data)',
  'request.none',
  'namespaceObject.spec.none',
  'authorizer.none()',
  'true || ',
  "'a' == 1",
  'object.data.exists(k, k)',
  '"a".matches("(")',
  'x'.repeat(40),
];
const wrong: readonly Call[] = WRONG.flatMap((expression) => [
  validating({ validations: [{ expression }] }),
  remove(`${VALIDATING}/${NAME}`),
  validating({ validations: [{ expression: 'true', messageExpression: expression }] }),
  remove(`${VALIDATING}/${NAME}`),
  validating({
    validations: [{ expression: 'true' }],
    matchConditions: [{ name: 'a', expression }],
  }),
  remove(`${VALIDATING}/${NAME}`),
  validating({
    validations: [{ expression: 'true' }],
    variables: [{ name: 'v', expression }],
    auditAnnotations: [{ key: 'k', valueExpression: expression }],
  }),
  remove(`${VALIDATING}/${NAME}`),
  mutating({ mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression } }] }),
  remove(`${MUTATING}/${NAME}`),
  mutating({
    mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
  }),
  remove(`${MUTATING}/${NAME}`),
]);

const jsonPatch = (expression: string): object => ({
  patchType: 'JSONPatch',
  jsonPatch: { expression },
});
const applied = (expression: string): object => ({
  patchType: 'ApplyConfiguration',
  applyConfiguration: { expression },
});
const READY_MUTATION = jsonPatch(
  'object.metadata.name == "ready" ? [JSONPatch{op: "replace", path: "/metadata/name", value: string(1 / 0)}] : []',
);
const mutated = (mutations: readonly object[], more: object = {}): readonly Call[] => [
  mutating({ mutations: [READY_MUTATION, ...mutations], ...more }),
  mutatingBinding(),
  untilReady(),
  create('x', { a: '1' }, { labels: { l: 'v' } }),
  create('y'),
  remove(`${MUTATING_BINDINGS}/${NAME}`),
  remove(`${MUTATING}/${NAME}`),
  untilGone,
];
const mutations: readonly Call[] = [
  ...mutated([applied('Object{metadata: Object.metadata{labels: {"a": "b"}}}')]),
  ...mutated([
    applied('Object{data: {"b": "2"}, metadata: Object.metadata{annotations: {"a": "b"}}}'),
  ]),
  ...mutated([jsonPatch('[JSONPatch{op: "add", path: "/data/b", value: "2"}]')]),
  ...mutated([jsonPatch('[JSONPatch{op: "remove", path: "/data/a"}]')]),
  ...mutated([jsonPatch('[JSONPatch{op: "test", path: "/data/a", value: "2"}]')]),
  ...mutated([
    jsonPatch(
      '[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b"), value: "c"}]',
    ),
  ]),
  ...mutated([jsonPatch('[JSONPatch{op: "move", from: "/data/a", path: "/data/c"}]')]),
  ...mutated(
    [jsonPatch('[JSONPatch{op: "add", path: "/data", value: {"a": string(variables.n)}}]')],
    {
      variables: [{ name: 'n', expression: 'has(object.data) ? size(object.data) : 0' }],
    },
  ),
  ...mutated([jsonPatch('[JSONPatch{op: "add", path: "/data/n", value: 1}]')]),
  ...mutated([jsonPatch('[JSONPatch{op: "add", path: "/data/n", value: string(1 / 0)}]')]),
  ...mutated([applied('Object{none: "x"}')]),
  ...mutated([applied('Object{data: Object.data{a: "c"}}')]),
  ...mutated([applied('Object{metadata: Object.metadata{name: "z"}}')]),
  ...mutated([
    jsonPatch('[JSONPatch{op: "add", path: "/metadata/finalizers", value: ["example.com/a"]}]'),
  ]),
];

export const policyCalls: readonly Call[] = [
  post('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'pol', labels: { policies: 'here' } },
  }),
  ...outcomes,
  ...actions,
  ...parameters,
  ...wrong,
  ...mutations,
  ...expressions,
  as('bob', patch(`${NAMESPACE}/configmaps/none`, [], JSON_PATCH)),
  put(`${VALIDATING_BINDINGS}/${NAME}`, {}),
];
