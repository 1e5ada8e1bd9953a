// OpenAPI schemas of the API's types; the server adds paths.

export { describeField } from './descriptions/index.ts';
export { definitionsV2, type OpenApiOptions, type OpenApiSchema, PATCH_DEFINITION, schemasV3 } from './schema.ts';
