// The address of a webhook: a URL or a service. Messages and paths are upstream's (apiserver
// pkg/util/webhook).

import { quote } from '#machinery/text/go-format.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as admission from '../types.ts';

const FORM = '; desired format: https://host[/path]';
const URL_PARTS =
  /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s;
/** The URL as Go's net/url parses it. */
// oxlint-disable-next-line no-control-regex -- what is ASCII
const NOT_IN_HOSTS = /[^\u0080-\u{10ffff}A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"%]/u;

export function clientConfig(
  config: Immutable<admission.WebhookClientConfig>,
  at: FieldPath,
): FieldErrorList {
  const { url, service } = config;
  if ((url === undefined) === (service === undefined))
    return [field.required(at, 'exactly one of url or service is required')];
  if (url !== undefined) return webhookUrl(url, at.child('url'));
  return service === undefined ? [] : webhookService(service, at.child('service'));
}

function webhookUrl(url: string, at: FieldPath): FieldErrorList {
  const malformed = urlProblem(url);
  if (malformed !== undefined) {
    return [
      field.required(at, `url must be a valid URL: parse ${quote(url)}: ${malformed}${FORM}`),
    ];
  }
  const [, scheme = '', authority = '', , query = '', fragment = ''] = URL_PARTS.exec(url) ?? [];
  const ends = authority.lastIndexOf('@');
  const errors: FieldErrorList = [];
  if (scheme.toLowerCase() !== 'https') {
    errors.push(
      field.invalid(at, scheme.toLowerCase(), `'https' is the only allowed URL scheme${FORM}`),
    );
  }
  if (authority.slice(ends + 1) === '')
    errors.push(field.invalid(at, '', `host must be specified${FORM}`));
  if (ends >= 0)
    errors.push(
      field.invalid(at, authority.slice(0, ends), 'user information is not permitted in the URL'),
    );
  if (fragment !== '')
    errors.push(field.invalid(at, fragment, 'fragments are not permitted in the URL'));
  if (query !== '')
    errors.push(field.invalid(at, query, 'query parameters are not permitted in the URL'));
  return errors;
}

/** Returns the reason why a text is not a URL; undefined if it is one. */
function urlProblem(url: string): string | undefined {
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(url)) return 'net/url: invalid control character in URL';
  if (url.startsWith(':')) return 'missing protocol scheme';
  const [, scheme, authority, path = ''] = URL_PARTS.exec(url) ?? [];
  if (scheme === undefined && authority === undefined && (path.split('/')[0] ?? '').includes(':')) {
    return 'first path segment in URL cannot contain colon';
  }
  const host = (authority ?? '').replace(/^.*@/, '');
  const port = /:([^\]]*)$/.exec(host);
  if (port !== null && !/^\d*$/.test(port[1] ?? ''))
    return `invalid port ${quote(port[0])} after host`;
  const character = NOT_IN_HOSTS.exec(host)?.[0];
  if (character !== undefined) return `invalid character ${quote(character)} in host name`;
  if (/%(?![0-9A-Fa-f]{2})/.test(path))
    return `invalid URL escape ${quote(/%.{0,2}/.exec(path)?.[0] ?? '%')}`;
  return undefined;
}

function webhookService(
  service: Immutable<admission.ServiceReference>,
  at: FieldPath,
): FieldErrorList {
  const { name, namespace, path, port = 0 } = service;
  const errors: FieldErrorList = [];
  // As in upstream, each of these two errors has the path of the other field.
  if (namespace === '') errors.push(field.required(at.child('name')));
  if (name === '') errors.push(field.required(at.child('namespace')));
  const problems = validation.isValidPortNum(port);
  if (problems.length > 0)
    errors.push(field.invalid(at.child('port'), port, `port is not valid: ${problems.join(', ')}`));
  return path === undefined ? errors : [...errors, ...webhookPath(path, at.child('path'))];
}

function webhookPath(path: string, at: FieldPath): FieldErrorList {
  if (path === '' || path === '/') return [];
  const invalid = (message: string): FieldErrorList => [field.invalid(at, path, message)];
  if (path === '//') return invalid('segment[0] may not be empty');
  const errors = path.startsWith('/') ? [] : invalid("must start with a '/'");
  const steps = path.slice(1).replace(/\/$/, '').split('/');
  return [
    ...errors,
    ...steps.flatMap((step, index) =>
      step === ''
        ? invalid(`segment[${index}] may not be empty`)
        : validation
            .isDNS1123Subdomain(step)
            .flatMap((problem) => invalid(`segment[${index}]: ${problem}`)),
    ),
  ];
}
