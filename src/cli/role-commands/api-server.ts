// The command `cox apiserver`.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { KUBERNETES_VERSION } from '#cluster/version.ts';
import {
  consoleOption,
  duration,
  integer,
  integers,
  ipAddress,
  list,
  number,
  port,
  repeated,
  settings,
  wholeNumber,
  yesOrNo,
} from '../flags.ts';
import { withAccessFlags } from '../access-flags.ts';
import { withAuditBackendFlags, withAuditFlags } from '../audit-flags.ts';
import { withOidcFlags } from '../oidc-flags.ts';
import { withWorkerFlags } from '../worker-flags.ts';
import { withCommonFlags } from './common-flags.ts';

/** Parses the value of --version=v…: the version that is spoken, with or without a suffix of the user's. */
function reportedVersion(text: string): string {
  const { gitVersion } = KUBERNETES_VERSION;
  if (new RegExp(`^${gitVersion.replaceAll('.', '\\.')}([-+][0-9A-Za-z.+-]{1,64})?$`).test(text))
    return text;
  throw new InvalidArgumentError(
    `a reported version is ${gitVersion}, with or without a suffix such as ${gitVersion}-mine`,
  );
}

export function addApiServer(program: Command): void {
  const command = withCommonFlags(
    program
      .command('apiserver')
      .description(
        'run an API server alone, on an etcd that several may share or with a store in memory',
      )
      .addOption(
        new Option('--store <engine>', 'where objects are kept; memory: gone with the process')
          .choices(['etcd', 'memory'])
          .default('etcd'),
      )
      .option(
        '--with-controllers <names>',
        "run the scheduler and these controllers here, with --store memory: '*' all, 'foo' " +
          "this one, '-foo' not this one",
        list,
      )
      .option(
        '--with-nodes <count>',
        'run so many simulated nodes here, with --store memory',
        wholeNumber,
      )
      .addOption(
        new Option('--reported-version <version>', 'as --version=v…')
          .argParser(reportedVersion)
          .hideHelp(),
      )
      .option('--etcd-servers <urls>', 'members of the etcd cluster, separated by commas', list)
      .option('--etcd-cafile <file>', "certificate authority of etcd's certificates (PEM)")
      .option('--etcd-certfile <file>', 'client certificate for etcd (PEM)')
      .option('--etcd-keyfile <file>', 'key of the client certificate for etcd (PEM)')
      .option('--etcd-prefix <prefix>', 'beginning of all keys in etcd (default: /registry)')
      .option('--bind-address <address>', 'address to listen on', ipAddress, '0.0.0.0')
      .option('--secure-port <port>', 'port to listen on; 0 picks a free one', port, 6443)
      .addOption(consoleOption())
      .option(
        '--advertise-address <address>',
        "address by which pods and nodes reach the server (default: the bind address, or the machine's)",
        ipAddress,
      )
      .option(
        '--service-cluster-ip-range <cidrs>',
        'addresses of services: one range, or one of each IP family',
        '10.96.0.0/16',
      )
      .option('--service-node-port-range <ports>', 'node ports of services', '30000-32767')
      .option(
        '--cert-dir <dir>',
        "directory of files that no flag names, as 'cox certs init' makes them; without " +
          'apiserver.crt in it, one is made',
      )
      .option('--tls-cert-file <file>', 'serving certificate (default: CERT-DIR/apiserver.crt)')
      .option(
        '--tls-private-key-file <file>',
        'key of the serving certificate (default: CERT-DIR/apiserver.key)',
      )
      .option(
        '--tls-sni-cert-key <files>',
        'certificate for clients that ask for one of its names: certfile,keyfile or ' +
          'certfile,keyfile:name,*.name; may be repeated',
        repeated,
      )
      .option(
        '--tls-min-version <version>',
        'lowest version of TLS: VersionTLS12 or VersionTLS13 (default: VersionTLS12)',
      )
      .option(
        '--tls-cipher-suites <names>',
        "cipher suites of TLS 1.2, by Go's names (default: Node's)",
        list,
      )
      .option(
        '--tls-curve-preferences <numbers>',
        "key exchanges of TLS, by their numbers, such as 29 for X25519 (default: OpenSSL's)",
        integers,
      )
      .option(
        '--client-ca-file <file>',
        'authority of client certificates (default: CERT-DIR/ca.crt; without, none is accepted)',
      )
      .option(
        '--token-auth-file <file>',
        'static bearer tokens: lines of token,user,uid,"group1,group2"',
      )
      .option(
        '--enable-bootstrap-token-auth [bool]',
        'accept the tokens by which new nodes join (Secrets of the type ' +
          'bootstrap.kubernetes.io/token in kube-system)',
        yesOrNo,
      )
      .option(
        '--kubelet-client-certificate <file>',
        'client certificate for kubelets (default: CERT-DIR/apiserver-kubelet-client.crt; without, as anonymous)',
      )
      .option(
        '--kubelet-client-key <file>',
        'key of the client certificate for kubelets (default: CERT-DIR/apiserver-kubelet-client.key)',
      )
      .option(
        '--kubelet-certificate-authority <file>',
        "authority of kubelets' certificates (default: CERT-DIR/ca.crt; without, they are not verified)",
      )
      .option(
        '--kubelet-preferred-address-types <types>',
        'types of addresses by which kubelets are reached, in order (default: InternalIP, ' +
          'ExternalIP, Hostname, InternalDNS, ExternalDNS)',
        list,
      )
      .option(
        '--proxy-client-cert-file <file>',
        'client certificate for other API servers (default: CERT-DIR/front-proxy-client.crt)',
      )
      .option(
        '--proxy-client-key-file <file>',
        'key of that certificate (default: CERT-DIR/front-proxy-client.key)',
      )
      .option(
        '--requestheader-client-ca-file <file>',
        'authority of front proxies, whose headers name users (default: ' +
          'CERT-DIR/front-proxy-ca.crt; without, there are none)',
      )
      .option(
        '--requestheader-allowed-names <names>',
        'common names of front proxies (default with CERT-DIR: front-proxy-client)',
        list,
      )
      .option(
        '--requestheader-username-headers <names>',
        'headers with the user (default with CERT-DIR: X-Remote-User)',
        list,
      )
      .option(
        '--requestheader-uid-headers <names>',
        'headers with the uid (default with CERT-DIR: X-Remote-Uid)',
        list,
      )
      .option(
        '--requestheader-group-headers <names>',
        'headers with groups (default with CERT-DIR: X-Remote-Group)',
        list,
      )
      .option(
        '--requestheader-extra-headers-prefix <prefixes>',
        'beginnings of headers with extra fields (default with CERT-DIR: X-Remote-Extra-)',
        list,
      )
      .option(
        '--aggregator-reject-forwarding-redirect [bool]',
        'answer redirects of other API servers with 502',
        yesOrNo,
        true,
      )
      .option(
        '--service-account-signing-key-file <file>',
        'RSA or EC key that signs tokens of ServiceAccounts (default: CERT-DIR/sa.key)',
      )
      .option(
        '--service-account-signing-endpoint <socket>',
        'unix socket of a program that signs the tokens instead, and has the public keys; @name: an abstract one',
      )
      .option(
        '--service-account-key-file <file>',
        'public keys or certificates whose tokens are accepted, beside the signing key; may be repeated',
        repeated,
      )
      .option(
        '--service-account-issuer <url>',
        'issuer of tokens; may be repeated: the others are accepted (default: ' +
          'https://kubernetes.default.svc.cluster.local)',
        repeated,
      )
      .option(
        '--service-account-jwks-uri <url>',
        'address at which the public keys are published (default: /openid/v1/jwks of the server)',
      )
      .option(
        '--service-account-max-token-expiration <duration>',
        'longest lifetime of tokens; 0 is no limit',
        duration,
        0,
      )
      .option(
        '--service-account-extend-token-expiration [bool]',
        'tokens that every pod gets are valid for a year, for clients that read them only once; ' +
          'after an hour their use is counted and audited as stale',
        yesOrNo,
        true,
      )
      .option(
        '--api-audiences <names>',
        'audiences of tokens for this server (default: the issuers)',
        list,
      )
      .option(
        '--enable-priority-and-fairness [bool]',
        'divide the requests at a time, reads and writes, by FlowSchemas and priority levels',
        yesOrNo,
        true,
      )
      .option(
        '--max-requests-inflight <count>',
        'reads at a time; more wait, 0 is no limit',
        wholeNumber,
        400,
      )
      .option(
        '--max-mutating-requests-inflight <count>',
        'writes at a time; more wait, 0 is no limit',
        wholeNumber,
        200,
      )
      .option(
        '--request-timeout <duration>',
        'deadline of requests that are not long-running',
        duration,
        60_000,
      )
      .option(
        '--goaway-chance <share>',
        'share of HTTP/2 requests after which the client opens its connection anew, so that ' +
          'connections spread over several API servers: up to 0.02',
        number,
        0,
      )
      .option(
        '--strict-transport-security-directives <directives>',
        'of the header Strict-Transport-Security, such as max-age=31536000,includeSubDomains',
        list,
      )
      .option(
        '--shutdown-delay-duration <duration>',
        'how long the server still serves after it was stopped, while /readyz fails',
        duration,
        0,
      )
      .option(
        '--min-request-timeout <seconds>',
        'seconds that a watch lasts at least',
        wholeNumber,
        1800,
      )
      .option('--event-ttl <duration>', 'how long events are kept', duration, 3_600_000)
      .option(
        '--watch-cache [bool]',
        'lists at resourceVersion 0 have all objects, whatever their limit is (default: true)',
        yesOrNo,
      )
      .option(
        '--default-not-ready-toleration-seconds <seconds>',
        'how long pods stay on a node that is not ready',
        integer,
        300,
      )
      .option(
        '--default-unreachable-toleration-seconds <seconds>',
        'how long pods stay on an unreachable node',
        integer,
        300,
      )
      .option(
        '--runtime-config <settings>',
        "what is served: 'api/all=true', 'group/version=false', " +
          "'group/version/resource=true' … (default: stable versions)",
        settings,
      )
      .option(
        '--encryption-provider-config <file>',
        'an EncryptionConfiguration: what is encrypted in the store',
      )
      .option(
        '--encryption-provider-config-automatic-reload [bool]',
        'read that file again when it changes',
        yesOrNo,
      )
      .addHelpText(
        'after',
        `
Examples:
  $ cox certs init --cert-dir pki
  $ cox apiserver --store memory --cert-dir pki --bind-address 127.0.0.1
  $ cox apiserver --etcd-servers http://127.0.0.1:2379 --cert-dir pki`,
      ),
  );
  const withFlags = withAuditBackendFlags(withAuditFlags(withOidcFlags(withAccessFlags(command))));
  withWorkerFlags(withFlags).action(async (options) =>
    (await import('../roles.ts')).apiServer(options),
  );
}
