// The expressions of webhooks and policies, compiled when the object is written: the variables that
// each of them may use.

import { describe, expect, test } from 'vitest';

import { messages } from '#api/testing/manifest.ts';
import { rows, variation } from '#api/testing/variation.ts';
import type * as admission from '../types.ts';
import * as validation from './index.ts';

const rule = { operations: ['CREATE'], apiGroups: ['a'], apiVersions: ['v1'], resources: ['pods'] };
const metadata = { name: 'it' };
const policy = variation<admission.ValidatingAdmissionPolicy>(
  'admissionregistration/v1.ValidatingAdmissionPolicy',
  {
    metadata,
    spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'true' }] },
  },
);
const mutatingPolicy = variation<admission.MutatingAdmissionPolicy>(
  'admissionregistration/v1.MutatingAdmissionPolicy',
  {
    metadata,
    spec: {
      matchConstraints: { resourceRules: [rule] },
      mutations: [
        { patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{}' } },
      ],
      reinvocationPolicy: 'Never',
    },
  },
);
const webhooks = variation<admission.ValidatingWebhookConfiguration>(
  'admissionregistration/v1.ValidatingWebhookConfiguration',
  {
    metadata,
  },
);
const hook = {
  name: 'a.example.com',
  clientConfig: { url: 'https://example.com' },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  rules: [rule],
};

const check = (spec: object): string[] =>
  messages(validation.validateValidatingAdmissionPolicy(policy({ spec })));
const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
const validates = (expression: string, more: object = {}): object => ({
  validations: [{ expression }],
  ...more,
});
const says = (messageExpression: string, more: object = {}): object => ({
  validations: [{ expression: 'true', messageExpression }],
  ...more,
});
const notes = (valueExpression: string, more: object = {}): object => ({
  auditAnnotations: [{ key: 'a', valueExpression }],
  ...more,
});
const matches = (expression: string, more: object = {}): object => ({
  matchConditions: [{ name: 'a', expression }],
  ...more,
});
const variables = (...expressions: string[]): object => ({
  variables: expressions.map((expression, index) => ({ name: `v${index}`, expression })),
});

/** Returns the error for an expression that does not compile. */
const wrong = (path: string, expression: string, place: number, what: string): string =>
  `${path}: Invalid value: ${JSON.stringify(expression)}: compilation failed: ERROR: ` +
  `<input>:1:${place}: ${what}\n | ${expression}\n | ${'.'.repeat(place - 1)}^`;
const unknown = (name: string): string => `undeclared reference to '${name}' (in container '')`;
const result = (path: string, expression: string, type: string, got: string): string =>
  `${path}: Invalid value: ${JSON.stringify(expression)}: must evaluate to ${type} but got ${got}`;

const VALIDATION = 'spec.validations[0].expression';
const MESSAGE = 'spec.validations[0].messageExpression';
const NOTE = 'spec.auditAnnotations[0].valueExpression';
const CONDITION = 'spec.matchConditions[0].expression';

describe('validating policies', () => {
  test.each(
    rows<[spec: object]>([
      [validates('object.spec.replicas <= 5 && oldObject == null')],
      [
        validates(
          'request.operation == "CREATE" && request.userInfo.groups.exists(g, g == "crew")',
        ),
      ],
      [validates('request.kind.group == request.requestKind.group && !request.dryRun')],
      [
        validates(
          'namespaceObject.metadata.labels["a"] == "b" && namespaceObject.status.phase == "Active"',
        ),
      ],
      [validates('authorizer.group("").resource("pods").namespace("a").check("list").allowed()')],
      [validates('authorizer.requestResource.check("use").allowed()')],
      [validates('params.data.limit == "1"', { paramKind })],
      [validates(' true ')],
      [says('"at most " + string(object.spec.limit)')],
      [says('"not " + params.data.a', { paramKind })],
      [notes('"seen"')],
      [notes('null')],
      [notes('object.spec.replicas > 1 ? "many" : "few"')],
      [notes('params.data.name.lowerAscii()', { paramKind })],
      [matches('request.resource.resource != "leases"')],
      [matches('params.data.a == "b"', { paramKind })],
      [{ ...variables('object.spec.replicas', 'variables.v0 > 1'), ...validates('variables.v1') }],
      [
        {
          ...variables('{"a": [1]}', 'variables.v0["a"].all(x, x > 0)'),
          ...says('string(variables.v1)'),
        },
      ],
      [{ ...variables('request.userInfo'), ...validates('variables.v0.anything == 1') }],
      [
        {
          ...variables('authorizer.requestResource.check("a").allowed()'),
          ...notes('string(variables.v0)'),
        },
      ],
      [validates('quantity("1Gi").isGreaterThan(quantity("1Mi")) && ip("10.0.0.1").family() == 4')],
    ]),
  )('may say %s', (_, spec) => {
    expect(check(spec)).toEqual([]);
  });

  const overload = (call: string, types: string): string =>
    `found no matching overload for '${call}' applied to '(${types})'`;
  test.each(
    rows<[spec: object, errors: readonly string[]]>([
      [validates('nothing.is'), [wrong(VALIDATION, 'nothing.is', 1, unknown('nothing'))]],
      [validates('1 < "a"'), [wrong(VALIDATION, '1 < "a"', 3, overload('_<_', 'int, string'))]],
      [
        validates('request.size == 1'),
        [wrong(VALIDATION, 'request.size == 1', 8, "undefined field 'size'")],
      ],
      [
        validates('namespaceObject.metadata.uid == ""'),
        [wrong(VALIDATION, 'namespaceObject.metadata.uid == ""', 25, "undefined field 'uid'")],
      ],
      [validates('params.a == 1'), [wrong(VALIDATION, 'params.a == 1', 1, unknown('params'))]],
      [validates('variables.a'), [wrong(VALIDATION, 'variables.a', 1, unknown('variables'))]],
      [validates('"yes"'), [result(VALIDATION, '"yes"', 'bool', 'string')]],
      [validates('object.spec.ready'), [result(VALIDATION, 'object.spec.ready', 'bool', 'dyn')]],
      [
        validates('JSONPatch{op: "add"} == null'),
        [wrong(VALIDATION, 'JSONPatch{op: "add"} == null', 10, unknown('JSONPatch'))],
      ],
      [says('1'), [result(MESSAGE, '1', 'string', 'int')]],
      [
        says('authorizer.path("/a").check("get").reason()'),
        [wrong(MESSAGE, 'authorizer.path("/a").check("get").reason()', 1, unknown('authorizer'))],
      ],
      [says('params.a'), [wrong(MESSAGE, 'params.a', 1, unknown('params'))]],
      [
        says('request.userInfo'),
        [result(MESSAGE, 'request.userInfo', 'string', 'kubernetes.UserInfo')],
      ],
      [notes('true'), [result(NOTE, 'true', 'one of [string null_type]', 'bool')]],
      [notes(' object.a '), [result(NOTE, ' object.a ', 'one of [string null_type]', 'dyn')]],
      [matches('1'), [result(CONDITION, '1', 'bool', 'int')]],
      [
        matches('duration("1s")'),
        [result(CONDITION, 'duration("1s")', 'bool', 'google.protobuf.Duration')],
      ],
      [matches(' params.a '), [wrong(CONDITION, 'params.a', 1, unknown('params'))]],
      [
        { ...variables('1'), ...matches('variables.v0 == 1') },
        [wrong(CONDITION, 'variables.v0 == 1', 1, unknown('variables'))],
      ],
      [
        { ...variables('1'), ...validates('variables.v1 == 1') },
        [wrong(VALIDATION, 'variables.v1 == 1', 10, "undefined field 'v1'")],
      ],
      [
        { ...variables('1'), ...validates('variables.v0 == "a"') },
        [wrong(VALIDATION, 'variables.v0 == "a"', 14, overload('_==_', 'int, string'))],
      ],
      [
        variables('variables.v1', '1'),
        [wrong('spec.variables[0].expression', 'variables.v1', 10, "undefined field 'v1'")],
      ],
      // An expression that uses an invalid variable has no error of its own.
      [
        { ...variables('nothing'), ...validates('variables.v0 > 1') },
        [wrong('spec.variables[0].expression', 'nothing', 1, unknown('nothing'))],
      ],
    ]),
  )('may not say %s', (_, spec, errors) => {
    expect(check(spec)).toEqual(errors);
  });

  test('unchanged conditions are not checked again', () => {
    const before = policy({ spec: matches('nothing') });
    const update = (spec: object): string[] =>
      messages(validation.validateValidatingAdmissionPolicy(policy({ spec }), before));
    expect(update({ ...matches('nothing'), failurePolicy: 'Ignore' })).toEqual([]);
    expect(update({ ...matches('nothing'), paramKind })).toHaveLength(1);
    expect(update(matches('other'))).toHaveLength(1);
  });
});

describe('mutating policies', () => {
  const apply = (expression: string, more: object = {}): object => ({
    mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
    ...more,
  });
  const patch = (expression: string, more: object = {}): object => ({
    mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression } }],
    ...more,
  });
  const APPLY = 'spec.mutations[0].applyConfiguration.expression';
  const PATCH = 'spec.mutations[0].jsonPatch.expression';
  test.each(
    rows<[spec: object, errors: readonly string[]]>([
      [apply('Object{spec: Object.spec{replicas: 3}}'), []],
      [apply('Object{metadata: Object.metadata{labels: {"a": params.data.a}}}', { paramKind }), []],
      [
        {
          ...variables('object.spec.replicas'),
          ...apply('Object{spec: Object.spec{replicas: variables.v0}}'),
        },
        [],
      ],
      [
        patch(
          '[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b"), value: "c"}]',
        ),
        [],
      ],
      [
        patch(
          'object.spec.ready ? [JSONPatch{op: "remove", path: "/a"}] : [JSONPatch{op: "test", path: "/b", value: 1}]',
        ),
        [],
      ],
      [patch(' [JSONPatch{op: "move", from: "/a", path: "/b"}] '), []],
      [
        apply('{"spec": {}}'),
        [result(APPLY, '{"spec": {}}', 'Object', 'map(string, map(dyn, dyn))')],
      ],
      [apply('Object.spec{}'), [result(APPLY, 'Object.spec{}', 'Object', 'Object.spec')]],
      [apply(' '), [`${APPLY}: Required value`]],
      [apply('nothing'), [wrong(APPLY, 'nothing', 1, unknown('nothing'))]],
      [
        patch('JSONPatch{op: "add"}'),
        [result(PATCH, 'JSONPatch{op: "add"}', 'list(JSONPatch)', 'JSONPatch')],
      ],
      [patch('[]'), [result(PATCH, '[]', 'list(JSONPatch)', 'list(dyn)')]],
      [
        patch('[JSONPatch{verb: "add"}]'),
        [wrong(PATCH, '[JSONPatch{verb: "add"}]', 16, "undefined field 'verb'")],
      ],
      [patch('params.a'), [wrong(PATCH, 'params.a', 1, unknown('params'))]],
      [patch('variables.a'), [wrong(PATCH, 'variables.a', 10, "undefined field 'a'")]],
      [matches('1'), [result(CONDITION, '1', 'bool', 'int')]],
      [
        matches('duration("1s")'),
        [result(CONDITION, 'duration("1s")', 'bool', 'google.protobuf.Duration')],
      ],
    ]),
  )('%s', (_, spec, errors) => {
    expect(messages(validation.validateMutatingAdmissionPolicy(mutatingPolicy({ spec })))).toEqual(
      errors,
    );
  });
});

describe('webhooks', () => {
  const AT = 'webhooks[0].matchConditions[0].expression';
  const of = (expression: string): admission.ValidatingWebhookConfiguration =>
    webhooks({ webhooks: [{ ...hook, matchConditions: [{ name: 'a', expression }] }] });
  test.each(
    rows<[expression: string, errors: readonly string[]]>([
      ['true', []],
      ['!("system:nodes" in request.userInfo.groups)', []],
      ['authorizer.group("a").resource("b").check("c").allowed() || has(object.spec)', []],
      ['"true"', [result(AT, '"true"', 'bool', 'string')]],
      ['object.a', [result(AT, 'object.a', 'bool', 'dyn')]],
      ['params.a', [wrong(AT, 'params.a', 1, unknown('params'))]],
      ['variables.a', [wrong(AT, 'variables.a', 1, unknown('variables'))]],
    ]),
  )('may match %s', (_, expression, errors) => {
    expect(messages(validation.validateWebhookConfiguration(of(expression)))).toEqual(errors);
  });

  test('unchanged match conditions are accepted', () => {
    expect(validation.validateWebhookConfigurationUpdate(of('nothing'), of('nothing'))).toEqual([]);
    expect(validation.validateWebhookConfigurationUpdate(of('other'), of('nothing'))).toHaveLength(
      1,
    );
  });
});
