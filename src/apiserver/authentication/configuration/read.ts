// Reads and validates an AuthenticationConfiguration, with upstream's messages.

import { X509Certificate } from 'node:crypto';
import type {
  AuthenticationConfiguration,
  ClaimMappings,
  ClaimValidationRule,
  Issuer,
  JWTAuthenticator,
  PrefixedClaimOrExpression,
} from '#api/config/apiserver/v1/index.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { validateDomainPrefixedPath } from '#machinery/validation/validation.ts';
import { ConfigurationError, decodeConfiguration } from '../../configuration-files/decode.ts';
import { compileTokenExpression, readsClaim } from '../oidc/expressions.ts';
import { type ClaimSource, type JwtSettings, SIGNING_ALGORITHMS } from '../oidc/settings.ts';

const EXPECTED = {
  group: 'apiserver.config.k8s.io',
  versions: ['v1', 'v1beta1', 'v1alpha1'],
  kind: 'AuthenticationConfiguration',
  type: 'apiserver/v1.AuthenticationConfiguration',
} as const;

const MAX_ISSUERS = 64;
const MATCH_ANY = 'MatchAny';
const NO_CERTIFICATES = 'data does not contain any valid RSA or ECDSA certificates';

export interface AuthenticationSettings {
  readonly jwt: readonly JwtSettings[];
  /** Absent: the file does not say which requests without credentials are served. */
  readonly anonymous?: AnonymousSettings;
}

export interface AnonymousSettings {
  readonly enabled: boolean;
  /** Only requests to these paths are served without credentials. Empty: all are. */
  readonly paths: readonly string[];
}

/**
 * Returns the settings of a file. `disallowedIssuers`: those of the server's own tokens. Throws
 * ConfigurationError.
 */
export function readAuthenticationConfiguration(
  text: string,
  disallowedIssuers: readonly string[],
): AuthenticationSettings {
  if (text === '') throw new ConfigurationError('empty config data');
  const configuration = decodeConfiguration<AuthenticationConfiguration>(text, EXPECTED);
  const errors = validate(configuration, disallowedIssuers);
  if (errors.length > 0)
    throw new ConfigurationError(
      `invalid authentication configuration: ${field.aggregateMessage(errors)}`,
    );
  const { jwt = [], anonymous } = configuration;
  return {
    jwt: jwt.map(settingsOf),
    ...(anonymous !== undefined && {
      anonymous: {
        enabled: anonymous.enabled,
        paths: (anonymous.conditions ?? []).map(({ path }) => path),
      },
    }),
  };
}

function validate(
  { jwt = [], anonymous }: AuthenticationConfiguration,
  disallowed: readonly string[],
): FieldErrorList {
  const root = field.path('jwt');
  if (jwt.length > MAX_ISSUERS) return [field.tooMany(root, jwt.length, MAX_ISSUERS)];
  const issuers = new Set<string>();
  const discoveryUrls = new Set<string>();
  const errors = jwt.flatMap((authenticator, index) => {
    const at = root.index(index);
    const { url, discoveryURL = '' } = authenticator.issuer;
    const found = validateAuthenticator(authenticator, disallowed, at);
    if (issuers.has(url)) found.push(field.duplicate(at.child('issuer', 'url'), url));
    issuers.add(url);
    if (discoveryURL !== '') {
      if (discoveryUrls.has(discoveryURL))
        found.push(field.duplicate(at.child('issuer', 'discoveryURL'), discoveryURL));
      discoveryUrls.add(discoveryURL);
    }
    return found;
  });
  const conditions = anonymous?.conditions ?? [];
  if (anonymous?.enabled === false && conditions.length > 0)
    errors.push(
      field.invalid(
        field.path('anonymous', 'conditions'),
        conditions.map(({ path }) => ({ Path: path })),
        'enabled should be set to true when conditions are defined',
      ),
    );
  return errors;
}

function validateAuthenticator(
  { issuer, claimValidationRules = [], claimMappings, userValidationRules = [] }: JWTAuthenticator,
  disallowed: readonly string[],
  at: FieldPath,
): FieldErrorList {
  return [
    ...validateIssuer(issuer, disallowed, at.child('issuer')),
    ...validateClaimRules(claimValidationRules, at.child('claimValidationRules')),
    ...validateMappings(claimMappings, claimValidationRules, at.child('claimMappings')),
    ...validateUserRules(userValidationRules, at.child('userValidationRules')),
  ];
}

function validateIssuer(
  issuer: Issuer,
  disallowed: readonly string[],
  at: FieldPath,
): FieldErrorList {
  const { url, discoveryURL = '', certificateAuthority = '', egressSelectorType = '' } = issuer;
  const errors =
    url === '' ? [field.required(at.child('url'))] : validateUrl(url, disallowed, at.child('url'));
  if (discoveryURL !== '') {
    const path = at.child('discoveryURL');
    if (url !== '' && withoutSlashes(url) === withoutSlashes(discoveryURL))
      errors.push(field.invalid(path, discoveryURL, 'discoveryURL must be different from URL'));
    errors.push(...validateUrl(discoveryURL, [], path));
  }
  errors.push(...validateAudiences(issuer, at));
  if (certificateAuthority !== '' && !hasCertificate(certificateAuthority))
    errors.push(field.invalid(at.child('certificateAuthority'), '<omitted>', NO_CERTIFICATES));
  if (egressSelectorType !== '')
    errors.push(
      field.forbidden(at.child('egressSelectorType'), 'egress selectors are not supported'),
    );
  return errors;
}

const withoutSlashes = (url: string): string => url.replace(/\/+$/, '');

function validateUrl(url: string, disallowed: readonly string[], at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const wrong = (why: string): void => void errors.push(field.invalid(at, url, why));
  if (disallowed.includes(url))
    wrong(`URL must not overlap with disallowed issuers: [${disallowed.toSorted().join(' ')}]`);
  // A text without a scheme is a relative URL, which has no scheme either.
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:/.test(url)) {
    wrong('URL scheme must be https');
    return errors;
  }
  if (!URL.canParse(url)) {
    wrong(`parse ${JSON.stringify(url)}: invalid URL`);
    return errors;
  }
  const { protocol, username, password } = new URL(url);
  if (protocol !== 'https:') wrong('URL scheme must be https');
  if (username !== '' || password !== '') wrong('URL must not contain a username or password');
  if (/\?[^#]/.test(url)) wrong('URL must not contain a query');
  if (/#./.test(url)) wrong('URL must not contain a fragment');
  return errors;
}

function validateAudiences(
  { audiences = [], audienceMatchPolicy: policy = '' }: Issuer,
  at: FieldPath,
): FieldErrorList {
  const path = at.child('audiences');
  if (audiences.length === 0)
    return [field.required(path, `at least one ${path.toString()} is required`)];
  const seen = new Set<string>();
  const errors = audiences.flatMap((audience, index) => {
    const found: FieldErrorList = [];
    if (audience === '') found.push(field.required(path.index(index)));
    if (seen.has(audience)) found.push(field.duplicate(path.index(index), audience));
    seen.add(audience);
    return found;
  });
  const policyPath = at.child('audienceMatchPolicy');
  if (audiences.length > 1 && policy !== MATCH_ANY)
    errors.push(
      field.invalid(
        policyPath,
        policy,
        'audienceMatchPolicy must be MatchAny for multiple audiences',
      ),
    );
  if (audiences.length === 1 && policy !== '' && policy !== MATCH_ANY)
    errors.push(
      field.invalid(
        policyPath,
        policy,
        'audienceMatchPolicy must be empty or MatchAny for single audience',
      ),
    );
  return errors;
}

function hasCertificate(pem: string): boolean {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  return blocks.length > 0 && blocks.every(isCertificate);
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).raw.length > 0;
  } catch {
    // OpenSSL's message adds nothing to upstream's.
    return false;
  }
}

function validateExpression(
  source: string,
  variable: 'claims' | 'user',
  isRule: boolean,
  at: FieldPath,
): FieldErrorList {
  const { problem } = compileTokenExpression(source, variable, isRule);
  return problem === undefined ? [] : [field.invalid(at, source, problem)];
}

function validateClaimRules(
  rules: readonly ClaimValidationRule[],
  root: FieldPath,
): FieldErrorList {
  const seenClaims = new Set<string>();
  const seenExpressions = new Set<string>();
  return rules.flatMap(
    ({ claim = '', requiredValue = '', expression = '', message = '' }, index) => {
      const at = root.index(index);
      if (claim !== '' && expression !== '')
        return [field.invalid(at, claim, "claim and expression can't both be set")];
      if (claim === '' && expression === '')
        return [field.required(at, 'claim or expression is required')];
      const errors: FieldErrorList = [];
      if (claim !== '') {
        if (message !== '')
          errors.push(
            field.invalid(at.child('message'), message, 'may not be specified when claim is set'),
          );
        if (seenClaims.has(claim)) errors.push(field.duplicate(at.child('claim'), claim));
        seenClaims.add(claim);
        return errors;
      }
      if (requiredValue !== '')
        errors.push(
          field.invalid(
            at.child('requiredValue'),
            requiredValue,
            'may not be specified when expression is set',
          ),
        );
      const path = at.child('expression');
      if (seenExpressions.has(expression)) return [...errors, field.duplicate(path, expression)];
      seenExpressions.add(expression);
      return [...errors, ...validateExpression(expression, 'claims', true, path)];
    },
  );
}

function validateMappings(
  mappings: ClaimMappings,
  rules: readonly ClaimValidationRule[],
  at: FieldPath,
): FieldErrorList {
  const { username, groups, uid, extra = [] } = mappings;
  const errors = [
    ...validateSource(username, at.child('username'), true),
    ...validateSource(groups, at.child('groups'), false),
  ];
  const { claim: uidClaim = '', expression: uidExpression = '' } = uid;
  const uidPath = at.child('uid');
  if (uidClaim !== '' && uidExpression !== '')
    errors.push(field.invalid(uidPath, '', "claim and expression can't both be set"));
  else if (uidExpression !== '')
    errors.push(...validateExpression(uidExpression, 'claims', false, uidPath.child('expression')));
  errors.push(...validateExtra(extra, at.child('extra')));
  const { expression = '' } = username;
  const others = [
    ...extra.map(({ valueExpression }) => valueExpression),
    ...rules.map((rule) => rule.expression ?? ''),
    expression,
  ];
  if (
    expression !== '' &&
    readsClaim(expression, 'email') &&
    !others.some((each) => each !== '' && readsClaim(each, 'email_verified'))
  )
    errors.push(
      field.invalid(
        at.child('username', 'expression'),
        expression,
        'claims.email_verified must be used in claimMappings.username.expression or ' +
          'claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when ' +
          'claims.email is used in claimMappings.username.expression',
      ),
    );
  return errors;
}

function validateSource(
  { claim = '', prefix, expression = '' }: PrefixedClaimOrExpression,
  at: FieldPath,
  isRequired: boolean,
): FieldErrorList {
  if (claim !== '' && expression !== '')
    return [field.invalid(at, '', "claim and expression can't both be set")];
  if (expression !== '') {
    const errors: FieldErrorList = [];
    if (prefix !== undefined)
      errors.push(
        field.invalid(at.child('prefix'), prefix, 'may not be specified when expression is set'),
      );
    return [...errors, ...validateExpression(expression, 'claims', false, at.child('expression'))];
  }
  if (claim === '')
    return isRequired ? [field.required(at, 'claim or expression is required')] : [];
  return prefix === undefined
    ? [
        field.required(
          at.child('prefix'),
          'prefix is required when claim is set. It can be set to an empty string to disable prefixing',
        ),
      ]
    : [];
}

function validateExtra(
  extra: NonNullable<ClaimMappings['extra']>,
  root: FieldPath,
): FieldErrorList {
  const seen = new Set<string>();
  return extra.flatMap(({ key, valueExpression }, index) => {
    const at = root.index(index);
    const path = at.child('key');
    const errors = [...validateDomainPrefixedPath(key, path)];
    if (key !== key.toLowerCase()) errors.push(field.invalid(path, key, 'must be lowercase'));
    if (/^(?:.*\.)?(?:kubernetes|k8s)\.io\//.test(key))
      errors.push(
        field.invalid(
          path,
          key,
          'k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use',
        ),
      );
    if (seen.has(key)) return [...errors, field.duplicate(path, key)];
    seen.add(key);
    const valuePath = at.child('valueExpression');
    return valueExpression === ''
      ? [...errors, field.required(valuePath)]
      : [...errors, ...validateExpression(valueExpression, 'claims', false, valuePath)];
  });
}

function validateUserRules(
  rules: NonNullable<JWTAuthenticator['userValidationRules']>,
  root: FieldPath,
): FieldErrorList {
  const seen = new Set<string>();
  return rules.flatMap(({ expression }, index) => {
    const path = root.index(index).child('expression');
    if (expression === '') return [field.required(path)];
    if (seen.has(expression)) return [field.duplicate(path, expression)];
    seen.add(expression);
    return validateExpression(expression, 'user', true, path);
  });
}

/** Returns the settings of a valid authenticator. */
function settingsOf(authenticator: JWTAuthenticator): JwtSettings {
  const { issuer, claimMappings, claimValidationRules = [] } = authenticator;
  const { discoveryURL = '', certificateAuthority = '' } = issuer;
  const { username, groups, uid, extra = [] } = claimMappings;
  const groupSource = sourceOf(groups);
  const uidSource = sourceOf(uid);
  return {
    issuer: issuer.url,
    ...(discoveryURL !== '' && { discoveryUrl: discoveryURL }),
    ...(certificateAuthority !== '' && { ca: certificateAuthority }),
    audiences: issuer.audiences ?? [],
    signingAlgorithms: SIGNING_ALGORITHMS,
    username: sourceOf(username) as ClaimSource,
    ...(groupSource !== undefined && { groups: groupSource }),
    ...(uidSource !== undefined && { uid: uidSource }),
    extra: extra.map(({ key, valueExpression }) => ({ key, expression: valueExpression })),
    requiredClaims: Object.fromEntries(
      claimValidationRules.flatMap(({ claim = '', requiredValue = '' }) =>
        claim === '' ? [] : [[claim, requiredValue]],
      ),
    ),
    claimRules: claimValidationRules.flatMap(({ expression = '', message = '' }) =>
      expression === '' ? [] : [{ expression, message }],
    ),
    userRules: (authenticator.userValidationRules ?? []).map(({ expression, message = '' }) => ({
      expression,
      message,
    })),
  };
}

function sourceOf({
  claim = '',
  prefix = '',
  expression = '',
}: PrefixedClaimOrExpression): ClaimSource | undefined {
  if (expression !== '') return { expression };
  return claim === '' ? undefined : { claim, prefix };
}
