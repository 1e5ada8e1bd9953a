// OpenAPI schemas of the API's types; the server adds paths.

export { describeField, describeType } from './descriptions/index.ts';
export {
  OpenApiDefinitions,
  type OpenApiOptions,
  type OpenApiSchema,
  PATCH_DEFINITION,
} from './schema.ts';
