package main

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const defaultTag = ":stable"

type webhooks struct{}

func addWebhooks(manager ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(manager, &WebApp{}).WithDefaulter(webhooks{}).WithValidator(webhooks{}).Complete()
}

// Default adds a tag to an image without one.
func (webhooks) Default(_ context.Context, app *WebApp) error {
	if app.Spec.Image != "" && !strings.Contains(app.Spec.Image, ":") {
		app.Spec.Image += defaultTag
	}
	return nil
}

// ValidateCreate warns of images that move and rejects images of another registry.
func (webhooks) ValidateCreate(_ context.Context, app *WebApp) (admission.Warnings, error) {
	var warnings admission.Warnings
	if strings.HasSuffix(app.Spec.Image, ":latest") {
		warnings = append(warnings, fmt.Sprintf("spec.image: %s changes without notice", app.Spec.Image))
	}
	if strings.Contains(app.Spec.Image, "/") {
		problem := field.Invalid(field.NewPath("spec", "image"), app.Spec.Image, "images of other registries are not allowed")
		return warnings, apierrors.NewInvalid(storageVersion.WithKind("WebApp").GroupKind(), app.Name, field.ErrorList{problem})
	}
	return warnings, nil
}

// ValidateUpdate checks what a create checks.
func (hooks webhooks) ValidateUpdate(ctx context.Context, _, app *WebApp) (admission.Warnings, error) {
	return hooks.ValidateCreate(ctx, app)
}

// ValidateDelete keeps applications whose name says that they are needed.
func (webhooks) ValidateDelete(_ context.Context, app *WebApp) (admission.Warnings, error) {
	if app.Labels["keep"] == "true" {
		return nil, fmt.Errorf("%s is kept: remove the label keep first", app.Name)
	}
	return nil, nil
}

// ConvertTo converts to the stored version.
func (app *OlderWebApp) ConvertTo(hub conversion.Hub) error {
	target := hub.(*WebApp)
	target.ObjectMeta = app.ObjectMeta
	target.Spec = WebAppSpec{Image: app.Spec.Image, Replicas: app.Spec.Size, MaxReplicas: app.Spec.MaxSize, Tier: app.Spec.Tier}
	target.Status = app.Status
	return nil
}

// ConvertFrom converts from the stored version.
func (app *OlderWebApp) ConvertFrom(hub conversion.Hub) error {
	source := hub.(*WebApp)
	app.ObjectMeta = source.ObjectMeta
	app.Spec = OlderWebAppSpec{Image: source.Spec.Image, Size: source.Spec.Replicas, MaxSize: source.Spec.MaxReplicas, Tier: source.Spec.Tier}
	app.Status = source.Status
	return nil
}
