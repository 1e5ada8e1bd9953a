// The flags about who may do what: --authorization-mode and --anonymous-auth.

import { AUTHORIZATION_MODES, type AuthorizationMode } from '#apiserver/authorization/modes.ts';
import type { AnonymousRequests } from '#apiserver/filters/authentication.ts';
import { UserError } from '../../user-error.ts';
import { quoted } from './quoted.ts';

/** Returns the modes; undefined for the default ones. Throws UserError. */
export function parseModes(
  names: readonly string[] | undefined,
): readonly AuthorizationMode[] | undefined {
  if (names === undefined || names.length === 0) return undefined;
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new UserError(`--authorization-mode: ${quoted(twice)} is there more than once`);
  return names.map((name) => {
    const mode = AUTHORIZATION_MODES.find((known) => known === name);
    if (mode !== undefined) return mode;
    const known =
      name === 'ABAC' || name === 'Webhook' ? 'is not supported' : 'is no authorization mode';
    throw new UserError(
      `--authorization-mode: ${quoted(name)} ${known}: modes are ${AUTHORIZATION_MODES.join(', ')}`,
    );
  });
}

/**
 * Returns which requests without credentials are served; undefined for the default. If every user
 * may do everything, they are rejected, as upstream does.
 */
export function anonymousRequests(
  allowed: boolean | undefined,
  modes: readonly AuthorizationMode[] | undefined,
): AnonymousRequests | undefined {
  if (allowed === false) return 'none';
  return allowed === true && !modes?.includes('AlwaysAllow') ? 'all' : undefined;
}
