// Gives the page's nonce to the style elements that libraries create, so that the content security
// policy needs no 'unsafe-inline'.

/** The nonce that the server wrote into the page; '' if it wrote none. */
export const styleNonce = (): string =>
  document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';

/**
 * Makes `document.createElement('style')` return elements with the nonce. xterm has no option for
 * it. Call it before a library creates its first element.
 */
export function applyStyleNonce(nonce: string): void {
  if (nonce === '') return;
  const createElement = document.createElement.bind(document);
  document.createElement = (name: string, options?: ElementCreationOptions) => {
    const element = createElement(name, options);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };
}
