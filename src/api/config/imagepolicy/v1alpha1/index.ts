// Generated from schema.ts by `npm run generate`. Do not edit.

export type * from './types.ts';
