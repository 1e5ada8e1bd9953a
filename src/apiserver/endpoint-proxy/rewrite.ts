// A page that comes through a proxy stands below a longer path than its server thinks. Redirects and the links of HTML pages
// that go to the same server are given that path too, so that who follows them stays behind the proxy.

import { Readable } from 'node:stream';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';

import type { ApiResponse } from '../request.ts';

export interface ProxiedPlace {
  /** How the client reaches the server, 'https'. */
  readonly scheme: string;
  /** How the client calls the server, with its port. */
  readonly host: string;
  /** How the server behind the proxy is called, with its port. */
  readonly backend: string;
  /** The path of the proxy, without a slash at its end. */
  readonly prefix: string;
}

/** Of these elements, these attributes are links. */
const LINKS: Readonly<Record<string, readonly string[]>> = {
  a: ['href'],
  applet: ['codebase'],
  area: ['href'],
  audio: ['src'],
  base: ['href'],
  blockquote: ['cite'],
  body: ['background'],
  button: ['formaction'],
  command: ['icon'],
  del: ['cite'],
  embed: ['src'],
  form: ['action'],
  frame: ['longdesc', 'src'],
  head: ['profile'],
  html: ['manifest'],
  iframe: ['longdesc', 'src'],
  img: ['longdesc', 'src', 'usemap'],
  input: ['src', 'usemap', 'formaction'],
  ins: ['cite'],
  link: ['href'],
  object: ['classid', 'codebase', 'data', 'usemap'],
  q: ['cite'],
  script: ['src'],
  source: ['src'],
  video: ['poster', 'src'],
};

const TAG = /<([a-zA-Z]+)(\s(?:"[^"]*"|'[^']*'|[^'">])*)>/g;
const ATTRIBUTE = /(\s)([a-zA-Z]+)(\s*=\s*)(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/g;

/** As the client has to be told it. What goes to another server, or from where it stands, stays as it is. */
export function rewriteLocation(location: string, place: ProxiedPlace): string {
  const match = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(.*)$/s.exec(location);
  const [, scheme, authority = '', path = '', rest = ''] = match ?? [];
  const elsewhere = authority !== '' && authority !== place.backend && authority !== place.host;
  if (match === null || elsewhere || !path.startsWith('/')) return location;
  const origin = scheme === undefined && authority === '' ? '' : `${place.scheme}://${place.host}`;
  const below = path.startsWith(place.prefix) ? path : `${place.prefix}${path}`;
  return `${origin}${below}${rest}`;
}

export function rewriteHtml(html: string, place: ProxiedPlace): string {
  return html.replace(TAG, (tag: string, element: string, attributes: string) => {
    const links = LINKS[element.toLowerCase()];
    if (links === undefined) return tag;
    const rewritten = attributes.replace(
      ATTRIBUTE,
      (whole: string, space: string, name: string, equals: string, double?: string, single?: string, bare?: string) => {
        if (!links.includes(name.toLowerCase())) return whole;
        const link = rewriteLocation(double ?? single ?? bare ?? '', place);
        const mark = single === undefined ? '"' : "'";
        return `${space}${name}${equals}${mark}${link}${mark}`;
      },
    );
    return `<${element}${rewritten}>`;
  });
}

const CORS = /^access-control-allow-(credentials|headers|methods|origin)$/;

/** Who may read what is behind the proxy is not for what is behind it to say. */
export async function rewriteResponse(response: ApiResponse, place: ProxiedPlace): Promise<ApiResponse> {
  const headers = Object.fromEntries(Object.entries(response.headers ?? {}).filter(([name]) => !CORS.test(name)));
  const { location } = headers;
  const { body } = response;
  if (location !== undefined) headers['location'] = rewriteLocation(location, place);
  else if (body.kind === 'stream' && body.contentType.split(';')[0]?.trim() === 'text/html') {
    const decode = DECODERS[headers['content-encoding'] ?? 'identity'];
    if (decode !== undefined) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of body.stream) chunks.push(chunk);
      delete headers['content-encoding'];
      // Latin 1 keeps every byte; what is looked for is ASCII in all encodings of pages.
      const page = Buffer.from(rewriteHtml(decode(Buffer.concat(chunks)).toString('latin1'), place), 'latin1');
      return { ...response, headers, body: { ...body, stream: Readable.from([page]) } };
    }
  }
  return { ...response, headers };
}

/** Of bodies, by their content encoding; pages in any other are passed on as they are. */
const DECODERS: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  identity: (body) => body,
  gzip: (body) => (body.length === 0 ? body : gunzipSync(body)),
  deflate: (body) => (body.length === 0 ? body : inflateSync(body)),
  br: (body) => (body.length === 0 ? body : brotliDecompressSync(body)),
};
