"""DeepSeek MoE, which transformers does not have: its Llama with the experts of its DeepSeek V2."""
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.deepseek_v2.modeling_deepseek_v2 import DeepseekV2MoE


class DeepseekConfig(LlamaConfig):
    model_type = "deepseek"

    def __init__(self, topk_method="greedy", n_group=None, topk_group=None, routed_scaling_factor=1.0, aux_loss_alpha=0.001, seq_aux=True, **keys):
        super().__init__(**keys)
        self.topk_method, self.n_group, self.topk_group = topk_method, n_group, topk_group
        self.routed_scaling_factor, self.aux_loss_alpha, self.seq_aux = routed_scaling_factor, aux_loss_alpha, seq_aux


class DeepseekForCausalLM(LlamaForCausalLM):
    config_class = DeepseekConfig

    def __init__(self, config):
        super().__init__(config)
        for i, layer in enumerate(self.model.layers):
            if i >= config.first_k_dense_replace:
                layer.mlp = DeepseekV2MoE(config)
