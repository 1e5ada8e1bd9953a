// The codec of custom kinds. Start reading at structural-codec.ts.

export { type CustomKind, type ObjectValidation, StructuralCodec } from './structural-codec.ts';
export { type CompiledRules, compileRulesOf, type RuleTimes } from './rules/index.ts';
export {
  structuralSchema,
  type StructuralSchema,
  UnsupportedSchemaError,
} from './structural-schema.ts';
export { validateSchema, type ValidateSchemaOptions } from './validate-schema.ts';
export { celTypeOfObjects, type PublishedSchema } from './cel-type.ts';
