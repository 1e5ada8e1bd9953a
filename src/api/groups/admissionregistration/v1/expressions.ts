// The CEL expressions of webhooks and admission policies: their variables and result types. Types
// and messages are upstream's (apiserver pkg/admission/plugin/cel).

import {
  AUTHORIZER,
  Environment,
  type FieldType,
  JSON_PATCH,
  kubernetesLibraries,
  OBJECT,
  type ObjectType,
  patchLibrary,
  type Program,
  RESOURCE_CHECK,
  type Type,
  types,
} from '#cel/index.ts';

const { BOOL, DYN, INT, list, map, NULL, object, STRING, TIMESTAMP } = types;

const VERSIONED_KIND = object('kubernetes.GroupVersionKind', {
  group: STRING,
  version: STRING,
  kind: STRING,
});
const VERSIONED_RESOURCE = object('kubernetes.GroupVersionResource', {
  group: STRING,
  version: STRING,
  resource: STRING,
});
const REQUEST = object('kubernetes.AdmissionRequest', {
  kind: VERSIONED_KIND,
  resource: VERSIONED_RESOURCE,
  subResource: STRING,
  requestKind: VERSIONED_KIND,
  requestResource: VERSIONED_RESOURCE,
  requestSubResource: STRING,
  name: STRING,
  namespace: STRING,
  operation: STRING,
  userInfo: object('kubernetes.UserInfo', {
    username: STRING,
    uid: STRING,
    groups: list(STRING),
    extra: map(STRING, list(STRING)),
  }),
  dryRun: BOOL,
  options: DYN,
});
const NAMESPACE = object('kubernetes.Namespace', {
  metadata: object('kubernetes.NamespaceMetadata', {
    name: STRING,
    generateName: STRING,
    namespace: STRING,
    labels: map(STRING, STRING),
    annotations: map(STRING, STRING),
    UID: STRING,
    creationTimestamp: TIMESTAMP,
    deletionGracePeriodSeconds: INT,
    deletionTimestamp: TIMESTAMP,
    generation: INT,
    resourceVersion: STRING,
    finalizers: list(STRING),
  }),
  spec: object('kubernetes.NamespaceSpec', { finalizers: list(STRING) }),
  status: object('kubernetes.NamespaceStatus', {
    conditions: list(
      object('kubernetes.NamespaceCondition', {
        status: STRING,
        type: STRING,
        lastTransitionTime: TIMESTAMP,
        message: STRING,
        reason: STRING,
      }),
    ),
    phase: STRING,
  }),
});

/** The purpose of an expression. */
export type ExpressionUse =
  | 'matchCondition'
  | 'validation'
  | 'message'
  | 'auditAnnotation'
  | 'variable'
  | 'applyConfiguration'
  | 'jsonPatch';

const RESULTS: Readonly<Record<ExpressionUse, readonly Type[]>> = {
  matchCondition: [BOOL],
  validation: [BOOL],
  message: [STRING],
  auditAnnotation: [STRING, NULL],
  variable: [],
  applyConfiguration: [OBJECT],
  jsonPatch: [list(JSON_PATCH)],
};

/** The optional variables besides the object, the old object, the request and the namespace. */
interface Extras {
  readonly params: boolean;
  readonly authorizer: boolean;
  readonly patches: boolean;
}

const BASE = new Environment({
  variables: { object: DYN, oldObject: DYN, namespaceObject: NAMESPACE, request: REQUEST },
  libraries: kubernetesLibraries,
});
const environments = new Map<string, Environment>();

function environmentWith(extras: Extras): Environment {
  const key = `${extras.params} ${extras.authorizer} ${extras.patches}`;
  let environment = environments.get(key);
  if (environment === undefined) {
    environment = BASE.extend({
      variables: {
        ...(extras.params && { params: DYN }),
        ...(extras.authorizer && {
          authorizer: AUTHORIZER,
          'authorizer.requestResource': RESOURCE_CHECK,
        }),
      },
      libraries: extras.patches ? [patchLibrary] : [],
    });
    environments.set(key, environment);
  }
  return environment;
}

export type CompiledExpression =
  | { readonly program: Program; readonly problem?: undefined }
  | { readonly program?: undefined; readonly problem: string };

export interface ExpressionCompilerConfig {
  readonly hasParams?: boolean;
  readonly hasVariables?: boolean;
  /** The type of the admitted object, and of the one that it replaces. Default: dynamic. */
  readonly objectType?: Type;
  /** Default: dynamic. */
  readonly paramsType?: Type;
}

/**
 * Compiles the expressions of one policy or webhook, in their order: expressions after a variable
 * may use it.
 */
export class ExpressionCompiler {
  readonly #hasParams: boolean;
  /** The types of variables. They replace the types in the general environment. */
  readonly #known: Readonly<Record<string, Type>>;
  readonly #variables: Map<string, FieldType> | undefined;
  readonly #environments = new Map<Environment, Environment>();

  constructor({
    hasParams = false,
    hasVariables = false,
    objectType,
    paramsType,
  }: ExpressionCompilerConfig = {}) {
    this.#hasParams = hasParams;
    this.#known = {
      ...(objectType !== undefined && { object: objectType, oldObject: objectType }),
      ...(hasParams && paramsType !== undefined && { params: paramsType }),
    };
    this.#variables = hasVariables ? new Map<string, FieldType>() : undefined;
  }

  compile(expression: string, use: ExpressionUse): CompiledExpression {
    const { program, error } = this.#environmentFor(use).compile(expression);
    if (program === undefined) return { problem: `compilation failed: ${error.message}` };
    const expected = RESULTS[use];
    if (expected.length === 0 || expected.some((type) => types.sameType(program.resultType, type)))
      return { program };
    const names = expected.map(types.resultTypeName);
    const choice = names.length === 1 ? names[0] : `one of [${names.join(' ')}]`;
    return {
      problem: `must evaluate to ${choice} but got ${types.resultTypeName(program.resultType)}`,
    };
  }

  /**
   * Compiles a variable. It is declared even if its expression does not compile, so that
   * expressions which use it report only their own errors.
   */
  compileVariable(name: string, expression: string): CompiledExpression {
    const compiled = this.compile(expression, 'variable');
    this.#variables?.set(name, {
      type: compiled.program === undefined ? DYN : variableType(compiled.program.resultType),
    });
    return compiled;
  }

  #environmentFor(use: ExpressionUse): Environment {
    const base = environmentWith({
      params: this.#hasParams,
      // Every client can read a message, so it must not contain authorization decisions.
      authorizer: use !== 'message',
      patches: use === 'applyConfiguration' || use === 'jsonPatch',
    });
    const variables = this.#variables;
    if (variables === undefined || use === 'matchCondition') {
      return Object.keys(this.#known).length === 0 ? base : base.extend({ variables: this.#known });
    }
    let environment = this.#environments.get(base);
    if (environment === undefined) {
      const type: ObjectType = {
        kind: 'object',
        name: 'kubernetes.variables',
        field: (name) => variables.get(name),
        fieldNames: () => [...variables.keys()],
      };
      environment = base.extend({ variables: { ...this.#known, variables: type } });
      this.#environments.set(base, environment);
    }
    return environment;
  }
}

/** Returns the type of a variable: objects become dynamic. */
function variableType(type: Type): Type {
  switch (type.kind) {
    case 'list':
      return list(variableType(type.element));
    case 'map':
      return map(variableType(type.key), variableType(type.value));
    case 'object':
    case 'opaque':
    case 'parameter':
    case 'type':
    case 'wrapper':
    case 'error':
      return DYN;
    default:
      return type;
  }
}
