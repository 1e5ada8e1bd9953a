// The headers of the console's pages: what a browser may load, and who may embed them.

/** The text in index.html that is replaced by the nonce of the response. */
export const NONCE_PLACEHOLDER = '%CSP_NONCE%';

/**
 * Returns the headers. Scripts and connections: this server alone. `nonce`: of the styles that the
 * page adds at run time; undefined: any inline style is allowed.
 */
export function pageHeaders(nonce: string | undefined): Readonly<Record<string, string>> {
  const styles = nonce === undefined ? "'unsafe-inline'" : `'nonce-${nonce}'`;
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    `style-src 'self' ${styles}`,
    "worker-src 'self'",
    "manifest-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ];
  return {
    'content-security-policy': policy.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  };
}
