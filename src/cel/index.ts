// The Common Expression Language as Kubernetes uses it. Start with environment.ts.

export { adapterOf, toJson } from './adapt.ts';
export { Budget, PER_CALL_LIMIT, RUNTIME_BUDGET } from './cost.ts';
export {
  global,
  member,
  type CallCost,
  type Functions,
  type Library,
  type Overload,
} from './declarations.ts';
export { typeOfMessage, type DescribedMessage, type DescribedType } from './descriptor-types.ts';
export {
  Environment,
  type Compilation,
  type CompileOptions,
  type EnvironmentConfig,
} from './environment.ts';
export { STATIC_COST_LIMIT, STATIC_COST_TOTAL_LIMIT } from './estimate.ts';
export type { Range } from './estimate-range.ts';
export {
  CompileError,
  EvaluationError,
  evaluationError,
  formatIssues,
  type Issue,
} from './errors.ts';
export { LazyMap } from './lazy-map.ts';
export {
  authorizerValue,
  requestResourceValue,
  type AuthorizationCheck,
  type AuthorizationDecision,
  type ExpressionAuthorizer,
} from './library/authorizer.ts';
export {
  allLibraries,
  bindingsLibrary,
  extraLibraries,
  kubernetesLibraries,
  patchLibrary,
} from './library/index.ts';
export { CIDR, CIDRValue, IP, IPValue } from './library/ip.ts';
export { JSON_PATCH, misnamedObjects, OBJECT, ObjectValue } from './library/patch.ts';
export { QUANTITY, QuantityValue } from './library/quantity.ts';
export { SEMVER, SemverValue, tryParseSemver } from './library/semver.ts';
export { AUTHORIZER, RESOURCE_CHECK } from './library/authorizer.ts';
export { formatDurationNanoseconds } from './schema-values.ts';
export { escapeName, minimalSize, typeOfSchema, type Schema } from './schema-types.ts';
export { Program, Run, type Activation, type EvaluateOptions, type Evaluation } from './program.ts';
export * as types from './types.ts';
export type { FieldType, ListType, MapType, ObjectType, Type } from './types.ts';
export {
  AbstractMap,
  Double,
  Duration,
  listItems,
  ListValue,
  MapValue,
  OpaqueValue,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './values.ts';
