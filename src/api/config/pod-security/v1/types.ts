// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface PodSecurityConfiguration extends meta.TypeMeta {
  defaults: PodSecurityDefaults;
  exemptions: PodSecurityExemptions;
}

export interface PodSecurityDefaults {
  enforce?: string;
  'enforce-version'?: string;
  audit?: string;
  'audit-version'?: string;
  warn?: string;
  'warn-version'?: string;
}

export interface PodSecurityExemptions {
  usernames?: string[];
  namespaces?: string[];
  runtimeClasses?: string[];
}
