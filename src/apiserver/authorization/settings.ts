// The authorizers of a server, as values: from --authorization-mode, or from the file of an
// AuthorizationConfiguration.

import type { AbacPolicy } from './abac/policies.ts';

/** The types that --authorization-mode and an AuthorizationConfiguration name. */
export const AUTHORIZATION_MODES = [
  'AlwaysAllow',
  'AlwaysDeny',
  'Node',
  'RBAC',
  'Webhook',
] as const;
export type AuthorizationMode = (typeof AUTHORIZATION_MODES)[number];

export interface BuiltInAuthorizerSettings {
  readonly type: Exclude<AuthorizationMode, 'Webhook'>;
}

/** Only --authorization-mode names it. */
export interface AbacAuthorizerSettings {
  readonly type: 'ABAC';
  readonly policies: readonly AbacPolicy[];
}

/** The decision when a webhook or its match conditions fail. */
export type FailurePolicy = 'NoOpinion' | 'Deny';

export interface WebhookAuthorizerSettings {
  readonly type: 'Webhook';
  /** The name in metrics. */
  readonly name: string;
  /** The kubeconfig of the webhook. The server reads it. */
  readonly kubeConfigFile: string;
  /** The time limit of one call, in ms. */
  readonly timeoutMs: number;
  readonly failurePolicy: FailurePolicy;
  /** The version of the SubjectAccessReview that is sent and expected. */
  readonly reviewVersion: 'v1' | 'v1beta1';
  /** How long answers that allow are kept, in ms. 0: they are not. */
  readonly authorizedTtlMs: number;
  /** How long other answers are kept, in ms. 0: they are not. */
  readonly unauthorizedTtlMs: number;
  /** CEL expressions. All must hold, or the webhook is not asked. */
  readonly matchConditions: readonly string[];
}

export type AuthorizerSettings =
  | BuiltInAuthorizerSettings
  | AbacAuthorizerSettings
  | WebhookAuthorizerSettings;

/** The settings of a server that is given none. */
export const DEFAULT_AUTHORIZERS: readonly AuthorizerSettings[] = [
  { type: 'Node' },
  { type: 'RBAC' },
];

/** Returns the name of an authorizer in metrics. */
export function authorizerName(settings: AuthorizerSettings): string {
  return settings.type === 'Webhook' ? settings.name : settings.type.toLowerCase();
}
