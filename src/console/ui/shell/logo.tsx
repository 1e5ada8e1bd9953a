// The mark of the project: a helm.

import type { ReactNode } from 'react';

export const Logo = ({ size }: { readonly size: number }): ReactNode => (
  <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden="true" className="logo">
    <rect width="32" height="32" rx="8" />
    <g fill="none" stroke="white" strokeWidth="2.4" strokeLinecap="round">
      <circle cx="16" cy="16" r="6.5" />
      <path d="M16 4.5v23M4.5 16h23M7.9 7.9l16.2 16.2M24.1 7.9L7.9 24.1" />
    </g>
  </svg>
);
