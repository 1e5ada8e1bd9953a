// The flags of OpenID Connect: of the commands that run an API server.

import type { Command } from 'commander';
import { list, repeated } from './flags.ts';

/** Adds kube-apiserver's flags, and those of the console's sign-in. */
export function withOidcFlags(command: Command): Command {
  return command
    .option(
      '--oidc-issuer-url <url>',
      'OpenID Connect provider whose ID tokens are accepted; only https (default: none)',
    )
    .option('--oidc-client-id <id>', 'audience that ID tokens must have')
    .option(
      '--oidc-ca-file <file>',
      "authority of the provider's certificate (default: those of Node)",
    )
    .option('--oidc-username-claim <claim>', "claim with the user's name (default: sub)")
    .option(
      '--oidc-username-prefix <prefix>',
      "prefix of names; '-': none (default: the issuer and '#', except for the claim email)",
    )
    .option('--oidc-groups-claim <claim>', "claim with the user's groups (default: no groups)")
    .option('--oidc-groups-prefix <prefix>', 'prefix of groups')
    .option(
      '--oidc-required-claim <key=value>',
      'claim that ID tokens must have with this value; may be repeated',
      repeated,
    )
    .option(
      '--oidc-signing-algs <names>',
      'accepted algorithms: RS256, RS384, RS512, ES256, ES384, ES512, PS256, PS384, PS512 (default: RS256)',
      list,
    )
    .option(
      '--console-oidc-client-secret-file <file>',
      "secret of the console as the provider's client (default: a public client)",
    )
    .option(
      '--console-oidc-scopes <names>',
      'scopes that the console requests (default: openid,profile,email)',
      list,
    );
}
