//go:build tools

// Package tools names the programs of other modules that are built from this one.
package tools

import (
	_ "helm.sh/helm/v4/cmd/helm"
	_ "sigs.k8s.io/kueue/cmd/kueue"
)
