<?php

declare(strict_types=1);

/** Comptoir's webhooks. Whatever one says, the order is looked up at Comptoir. */
class ComptoirPayWebhookModuleFrontController extends ModuleFrontController
{
    public $auth = false;

    public function postProcess(): void
    {
        try {
            $payment = $this->module->payments()->read((string) file_get_contents('php://input'), getallheaders());
            if ($payment !== null) {
                $this->module->apply($payment);
            }
            http_response_code(200);
        } catch (WebhookVerificationError) {
            http_response_code(400);
        } catch (ComptoirError) {
            // not known for sure now: a refusal makes Comptoir deliver again
            http_response_code(503);
        }
        exit;
    }
}
