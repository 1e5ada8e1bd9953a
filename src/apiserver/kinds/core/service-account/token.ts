// serviceaccounts/token: creates a token for a ServiceAccount, bound to an object if the request
// names one.

import type { TokenRequest } from '#api/groups/authentication/v1/index.ts';
import type { Node, Pod, ServiceAccount } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { type FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as field from '#machinery/validation/field.ts';
import type {
  BoundObject,
  ServiceAccountTokens,
  SignedToken,
  TokenWish,
} from '#apiserver/authentication/service-account-tokens.ts';
import { FreshObject } from '#apiserver/registry/encoded-object.ts';
import type { Find } from '#apiserver/catalog/internal-client.ts';
import type { Subresource } from '#apiserver/catalog/kind.ts';
import { formatTime } from '#machinery/text/time.ts';

export interface TokenServices {
  readonly clock: Clock;
  readonly find: Find;
  /** Signs the tokens. Absent: the server has no signing key. */
  readonly serviceAccountTokens?: ServiceAccountTokens;
}

const MIN_SECONDS = 10 * 60;
const MAX_SECONDS = 2 ** 32;
const TOKEN_REQUEST = { group: 'authentication.k8s.io', kind: 'TokenRequest' };
const TOKEN_REQUESTS = { group: 'authentication.k8s.io', resource: 'TokenRequest' };
const ISSUED_CREDENTIAL = 'authentication.kubernetes.io/issued-credential-id';
const SERVICE_ACCOUNTS = { group: '', resource: 'serviceaccounts' };

export function tokenSubresource({
  clock,
  find,
  serviceAccountTokens,
}: TokenServices): Omit<Subresource, 'name'> {
  return {
    kind: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
    rest: {
      create: async (context, name, object, options) => {
        if (serviceAccountTokens === undefined)
          throw apierrors.serviceUnavailable('this API server has no key to sign tokens with');
        const tokenRequest = object as Immutable<TokenRequest>;
        const { name: givenName = '', uid: givenUid = '' } = tokenRequest.metadata;
        checkName(givenName, name);
        const account = await find<Immutable<ServiceAccount>>(
          '',
          'serviceaccounts',
          context.namespace,
          name,
        );
        if (account === undefined) throw apierrors.notFound(SERVICE_ACCOUNTS, name);
        const { uid } = account.metadata;
        if (givenUid !== '' && givenUid !== uid)
          throw apierrors.conflict(TOKEN_REQUESTS, name, uidMismatch(givenUid, uid));
        const creationTimestamp = formatTime(clock.now());
        const metadata = {
          ...tokenRequest.metadata,
          name,
          namespace: context.namespace,
          uid,
          creationTimestamp,
        };
        const audiences = tokenRequest.spec.audiences ?? [];
        const expirationSeconds = tokenRequest.spec.expirationSeconds ?? 0;
        const request: Immutable<TokenRequest> = {
          ...tokenRequest,
          metadata,
          spec: {
            ...tokenRequest.spec,
            audiences: audiences.length > 0 ? audiences : serviceAccountTokens.audiences,
          },
        };
        const errors = validateExpiration(expirationSeconds);
        if (errors.length > 0) throw apierrors.invalid(TOKEN_REQUEST, '', errors);
        await options.validate?.(request, undefined);
        const binding = await resolveBinding(
          find,
          account,
          request.spec.boundObjectRef ?? undefined,
        );
        const max = serviceAccountTokens.maxExpirationSeconds;
        const grantedSeconds = Math.min(expirationSeconds, max ?? Infinity);
        if (grantedSeconds < expirationSeconds) {
          context.warnings.push(
            `requested expiration of ${expirationSeconds} seconds shortened to ${grantedSeconds} seconds`,
          );
        }
        const spec = { ...request.spec, expirationSeconds: grantedSeconds };
        if (options.dryRun)
          return new FreshObject({
            ...request,
            spec,
            status: { token: '', expirationTimestamp: null },
          });
        const signed = await signedToken(serviceAccountTokens, {
          serviceAccount: account,
          audiences,
          expirationSeconds: grantedSeconds,
          ...binding,
        });
        context.audit?.annotate(ISSUED_CREDENTIAL, `JTI=${signed.id}`);
        const status = {
          token: signed.token,
          expirationTimestamp: formatTime(signed.expirationMs),
        };
        return new FreshObject({ ...request, spec, status });
      },
    },
  };
}

/** A program that signs tokens may fail, or return another token than it should. */
async function signedToken(tokens: ServiceAccountTokens, wish: TokenWish): Promise<SignedToken> {
  try {
    return await tokens.sign(wish);
  } catch (error) {
    throw apierrors.internalError(`failed to generate token: ${errorMessage(error)}`);
  }
}

/** Checks the name in the request, which may be empty. */
function checkName(name: string, account: string): void {
  if (name === '' || name === account) return;
  throw apierrors.invalid(TOKEN_REQUEST, account, [
    field.invalid(
      new FieldPath('metadata', 'name'),
      name,
      'must match the service account name if specified',
    ),
  ]);
}

const uidMismatch = (given: string, uid: string | undefined): string =>
  `the UID in the token request (${given}) does not match the UID of the service account (${uid})`;

function validateExpiration(seconds: number): FieldErrorList {
  const at = new FieldPath('spec', 'expirationSeconds');
  if (seconds < MIN_SECONDS)
    return [field.invalid(at, seconds, 'may not specify a duration less than 10 minutes')];
  if (seconds > MAX_SECONDS)
    return [field.invalid(at, seconds, 'may not specify a duration larger than 2^32 seconds')];
  return [];
}

type Binding = Pick<TokenWish, 'bound' | 'node'>;
type BoundObjectReference = NonNullable<Immutable<TokenRequest>['spec']['boundObjectRef']>;

async function resolveBinding(
  find: Find,
  account: Immutable<ServiceAccount>,
  reference: BoundObjectReference | undefined,
): Promise<Binding> {
  if (reference === undefined) return {};
  const { kind = '', apiVersion = '', name = '' } = reference;
  const namespace = account.metadata.namespace ?? '';
  const resource = ownValue(BINDABLE, kind);
  // The version is not compared, as upstream.
  if (apiVersion.includes('/') || resource === undefined) {
    throw apierrors.badRequest(
      // As Go prints a kind of the core group: '/v1, Kind=Pod'.
      `cannot bind token to object of type ${apiVersion.includes('/') ? '' : '/'}${apiVersion}, Kind=${kind}`,
    );
  }
  if (name === '') throw apierrors.badRequest('Name parameter required.');
  const object = await find<KubeObject>('', resource, kind === 'Node' ? '' : namespace, name);
  if (object === undefined) throw apierrors.notFound({ group: '', resource }, name);
  const { uid } = object.metadata;
  if (reference.uid !== undefined && reference.uid !== '' && reference.uid !== uid) {
    const why =
      `the UID in the bound object reference (${reference.uid}) does not match the UID in record. ` +
      'The object might have been deleted and then recreated';
    // Upstream names the kind here.
    throw apierrors.conflict({ group: '', resource: kind }, name, why);
  }
  const bound: BoundObject = { kind: kind as BoundObject['kind'], name, uid };
  return kind === 'Pod'
    ? { bound, ...(await nodeOf(find, account, object as Immutable<Pod>)) }
    : { bound };
}

const BINDABLE: Readonly<Record<string, string>> = {
  Pod: 'pods',
  Secret: 'secrets',
  Node: 'nodes',
};

async function nodeOf(
  find: Find,
  account: Immutable<ServiceAccount>,
  pod: Immutable<Pod>,
): Promise<Pick<Binding, 'node'>> {
  const accountName = account.metadata.name;
  if (pod.spec.serviceAccountName !== accountName) {
    const message =
      `cannot bind token for serviceaccount ${JSON.stringify(accountName)} to ` +
      'pod running with different serviceaccount name.';
    throw apierrors.badRequest(message);
  }
  const { nodeName } = pod.spec;
  if (nodeName === undefined || nodeName === '') return {};
  const node = await find<Immutable<Node>>('', 'nodes', '', nodeName);
  // A node that is gone is still named.
  return { node: { name: nodeName, ...(node !== undefined && { uid: node.metadata.uid }) } };
}
