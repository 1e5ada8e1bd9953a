// The flags about who may do what: of the commands that run an API server.

import type { Command } from 'commander';
import { duration, list, yesOrNo } from './flags.ts';

/** Adds kube-apiserver's flags. */
export function withAccessFlags(command: Command): Command {
  return command
    .option(
      '--admission-control-config-file <file>',
      'an AdmissionConfiguration: settings of admission plugins, credentials for webhooks',
    )
    .option(
      '--enable-admission-plugins <names>',
      'admission plugins to run beside those that run by default',
      list,
    )
    .option('--disable-admission-plugins <names>', 'admission plugins to leave out', list)
    .option(
      '--authentication-config <file>',
      'an AuthenticationConfiguration: issuers of tokens, requests without credentials; read again when it changes',
    )
    .option(
      '--authentication-token-webhook-config-file <file>',
      'kubeconfig of a webhook that knows bearer tokens',
    )
    .option(
      '--authentication-token-webhook-version <version>',
      'version of the TokenReviews for that webhook: v1 or v1beta1 (default: v1beta1)',
    )
    .option(
      '--authentication-token-webhook-cache-ttl <duration>',
      'how long answers of that webhook are kept (default: 2m)',
      duration,
    )
    .option(
      '--anonymous-auth [bool]',
      'authorize requests without credentials as system:anonymous (default: those for health and version)',
      yesOrNo,
    )
    .option(
      '--authorization-mode <modes>',
      'authorizers, in their order: Node, RBAC, ABAC, Webhook, AlwaysAllow, AlwaysDeny (default: Node,RBAC)',
      list,
    )
    .option(
      '--authorization-config <file>',
      'an AuthorizationConfiguration: the authorizers in their order; read again when it changes',
    )
    .option(
      '--authorization-policy-file <file>',
      'policies of the mode ABAC, one in JSON on each line',
    )
    .option(
      '--authorization-webhook-config-file <file>',
      'kubeconfig of the webhook of the mode Webhook',
    )
    .option(
      '--authorization-webhook-version <version>',
      'version of the SubjectAccessReviews for that webhook: v1 or v1beta1 (default: v1beta1)',
    )
    .option(
      '--authorization-webhook-cache-authorized-ttl <duration>',
      'how long answers of that webhook that allow are kept (default: 5m)',
      duration,
    )
    .option(
      '--authorization-webhook-cache-unauthorized-ttl <duration>',
      'how long its other answers are kept (default: 30s)',
      duration,
    );
}
