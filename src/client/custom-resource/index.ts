// Custom resources that are defined in TypeScript.

export { defineCustomResource } from './define.ts';
export type { CustomResourceDescription, CustomResourceType, KindOf, ObjectOf } from './define.ts';
export type {
  AnySchema,
  ArraySchema,
  BooleanSchema,
  IntOrStringSchema,
  NumberSchema,
  ObjectSchema,
  Schema,
  StringSchema,
  ValueOf,
} from './schema.ts';
